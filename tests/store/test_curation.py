"""The curator at work on a real Postgres: many at once, late, overtaken, without an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID, uuid4

import pytest

from libs.language.tokens import TokenCounter
from services.memory.curation.curate import Curator
from services.memory.curation.curation import Verdict
from services.memory.memories.rings import Outcome, Ring, Type
from tests.rig.memory import Memories, memories_in
from tests.rig.postgres import Cluster

WORKERS = 8
DISASTER = "The production database was wiped, all orders are lost."


@pytest.fixture
async def room(cluster: Cluster) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, TokenCounter()) as memories:
        yield memories


def a_curator(room: Memories) -> Curator:
    """One replica's."""
    return Curator(room.curation, room.routed, None, room.clock)


async def disaster(room: Memories, profile: UUID, text: str = DISASTER) -> UUID:
    """A memory that the rules take for a shock."""
    session = await room.session(profile)
    kept = await room.observe(profile, session, text, type=Type.ERROR_PATTERN, outcome=Outcome.FAILURE)
    return kept.memory.id


async def standing(room: Memories, memory_id: UUID) -> tuple[Any, ...]:
    """Ring, who set it, and why."""
    [row] = await room.rows(
        "SELECT ring, ring_set_by, ring_reason FROM memory.memory WHERE id = $1", memory_id
    )
    return tuple(row)


async def waiting(room: Memories) -> int:
    """How many memories the curator has not looked at."""
    [row] = await room.rows("SELECT count(*) FROM memory.uncurated")
    return row[0]


async def test_eight_at_once_look_at_each_memory_once(room: Memories) -> None:
    """Two hundred memories of four profiles: every one gets one verdict from one of them."""
    for _ in range(4):
        profile = uuid4()
        session = await room.session(profile)
        for number in range(50):
            await room.observe(profile, session, f"{DISASTER} Number {number}.", type=Type.ERROR_PATTERN)

    done = await asyncio.gather(*(a_curator(room).curate() for _ in range(WORKERS)))

    assert sum(done) == 200
    assert await waiting(room) == 0
    [row] = await room.rows("SELECT count(*) FROM memory.memory WHERE ring = 5 AND ring_set_by = 1")
    assert row[0] == 200
    assert await a_curator(room).curate() == 0


@pytest.mark.parametrize("setter", [2, 3], ids=["caller", "repetition"])
async def test_what_somebody_else_set_stays(room: Memories, setter: int) -> None:
    """A ring that was set while the curator was thinking is not touched."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    claimed = await room.curation.claim(10, room.clock())
    await room.rows(
        "UPDATE memory.memory SET ring = 2, ring_set_by = $2, ring_reason = 'other' WHERE id = $1",
        memory_id,
        setter,
    )
    late = {memory_id: Verdict(Ring.SHOCK, 0.9, "cue:loss")}

    assert not await room.curation.keep(profile, claimed[profile], late, room.clock())
    assert await standing(room, memory_id) == (2, setter, "other")
    assert await waiting(room) == 0


async def test_a_caller_may_leave_it_fresh(room: Memories) -> None:
    """FRESH by a caller's word is not the curator's any more."""
    memory_id = await disaster(room, uuid4())
    await room.rows("UPDATE memory.memory SET ring_set_by = 2 WHERE id = $1", memory_id)

    assert await a_curator(room).curate() == 0
    assert await standing(room, memory_id) == (1, 2, None)


async def test_a_verdict_of_an_earlier_turn_counts_no_more(room: Memories) -> None:
    """Whoever died or was slow is overtaken: only the latest turn's verdict is kept."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    slow = await room.curation.claim(10, room.clock())
    assert not await room.curation.claim(10, room.clock())
    room.clock.passes(hours=1)
    quick = await room.curation.claim(10, room.clock())
    verdicts = {memory_id: Verdict(Ring.PRACTICE, 0.6, "cue:habit")}

    assert not await room.curation.keep(profile, slow[profile], verdicts, room.clock())
    assert await waiting(room) == 1
    assert await room.curation.keep(profile, quick[profile], verdicts, room.clock()) == [memory_id]
    assert not await room.curation.keep(profile, quick[profile], verdicts, room.clock())
    assert await standing(room, memory_id) == (3, 1, "cue:habit")


async def test_outcomes_have_an_insight_looked_at_again(room: Memories) -> None:
    """Unproved it stays FRESH; once it is earned, it is LONG_TERM."""
    profile = uuid4()
    session = await room.session(profile)
    text = "The vendor keeps its prices in cents."
    kept = await room.observe(profile, session, text, outcome=Outcome.SUCCESS)
    await a_curator(room).curate()
    assert (await standing(room, kept.memory.id))[:2] == (Ring.FRESH, 1)

    await room.observe(profile, session, text, outcome=Outcome.SUCCESS)
    await a_curator(room).curate()

    assert await standing(room, kept.memory.id) == (Ring.LONG_TERM, 1, "earned")


async def test_what_is_no_longer_earned_is_not_promoted(room: Memories) -> None:
    """Failures recorded after the look outweigh the verdict, and the memory is looked at again."""
    profile = uuid4()
    session = await room.session(profile)
    kept = [
        await room.observe(profile, session, "Larger batches are faster.", outcome=Outcome.SUCCESS)
        for _ in range(2)
    ]
    memory_id = kept[0].memory.id
    claimed = await room.curation.claim(10, room.clock())
    await room.observe(profile, session, "Larger batches are faster.", outcome=Outcome.FAILURE)
    earned = {memory_id: Verdict(Ring.LONG_TERM, 0.75, "earned")}

    assert not await room.curation.keep(profile, claimed[profile], earned, room.clock())
    again = await room.curation.claim(10, room.clock())
    assert not await room.curation.keep(profile, again[profile], earned, room.clock())
    assert (await standing(room, memory_id))[0] == Ring.FRESH


async def test_words_do_without_an_embedder(room: Memories) -> None:
    """While it is away, memories are put into their rings all the same."""
    room.embedder.away = True
    memory_id = await disaster(room, uuid4())

    assert await a_curator(room).curate() == 1
    assert (await standing(room, memory_id))[0] == Ring.SHOCK


async def test_a_deleted_memory_leaves_the_queue(room: Memories) -> None:
    """Nothing is made of it, and nobody looks for it again."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    await room.rows("DELETE FROM memory.memory WHERE id = $1", memory_id)

    assert await a_curator(room).curate() == 0
    assert await waiting(room) == 0

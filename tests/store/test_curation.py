"""The curator at work on a real Postgres: many at once, late, overtaken, without an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from libs.language.tokens import TokenCounter
from services.memory.curation.curate import Curator
from services.memory.curation.curation import Verdict
from services.memory.memories.rings import Outcome, Ring, Type
from services.memory.repetition.repeat import Repetition
from services.memory.rings.changes import Changes
from services.memory.rings.revisions import Rewrite
from services.memory.rings.standing import ShockStays, Wish
from tests.rig.memory import GRPC, WORKSPACE, Memories, memories_in
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
    repetition = Repetition(room.repetition, room.routed, None, room.clock)
    return Curator(room.curation, repetition, room.routed, None, room.clock)


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


@pytest.mark.parametrize("ring", [Ring.FRESH, Ring.PROCEDURE, Ring.PRACTICE])
async def test_what_the_caller_said_stays(room: Memories, ring: Ring) -> None:
    """A ring that a caller set while the curator was thinking is not touched, nor looked at again."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    claimed = await room.curation.claim(10, room.clock())
    await room.rings.promote(profile, Wish(memory_id, ring, "", False), room.clock())
    late = {memory_id: Verdict(Ring.SHOCK, 0.9, "cue:loss")}

    assert not await room.curation.keep(profile, claimed[profile], late, room.clock())
    await room.rings.reinforce(profile, memory_id, Outcome.SUCCESS, "", room.clock())
    assert await a_curator(room).curate() == 0
    assert await standing(room, memory_id) == (ring, 2, "caller")
    assert await waiting(room) == 0


async def test_what_repetition_set_stays(room: Memories) -> None:
    """Observed a third time while the curator was thinking, it is PRACTICE, whatever that thought."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    claimed = await room.curation.claim(10, room.clock())
    for _ in range(2):
        await room.rings.reinforce(profile, memory_id, Outcome.NEUTRAL, "", room.clock())
    late = {memory_id: Verdict(Ring.SHOCK, 0.9, "cue:loss")}

    assert not await room.curation.keep(profile, claimed[profile], late, room.clock())
    assert await standing(room, memory_id) == (3, 3, "repetition")
    assert await waiting(room) == 0


async def test_what_the_curator_left_fresh_is_settled_by_outcomes(room: Memories) -> None:
    """Repetition makes PRACTICE of it, failure takes that back, and then the curator has no say."""
    profile = uuid4()
    session = await room.session(profile)
    memory_id = (await room.observe(profile, session, "142 passed in 8.31s", type=Type.TOOL_RESULT)).memory.id
    await a_curator(room).curate()
    assert (await standing(room, memory_id))[:2] == (1, 1)

    for _ in range(2):
        await room.rings.reinforce(profile, memory_id, Outcome.NEUTRAL, "", room.clock())
    assert await standing(room, memory_id) == (3, 3, "repetition")
    for _ in range(5):
        await room.rings.reinforce(profile, memory_id, Outcome.FAILURE, "", room.clock())
    await a_curator(room).curate()
    assert await standing(room, memory_id) == (1, 4, "outcome:failing")


async def test_the_curators_shock_is_guarded(room: Memories) -> None:
    """It stays one: without a note nothing takes it out, repetition and failure neither."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    await a_curator(room).curate()
    for outcome in (Outcome.NEUTRAL, Outcome.NEUTRAL, *[Outcome.FAILURE] * 5):
        await room.rings.reinforce(profile, memory_id, outcome, "", room.clock())

    with pytest.raises(ShockStays):
        await room.rings.promote(profile, Wish(memory_id, Ring.PRACTICE, "", True), room.clock())
    assert (await standing(room, memory_id))[:2] == (5, 1)


async def test_new_words_are_looked_at_anew(room: Memories) -> None:
    """A verdict on what it said before its revision counts no more."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    claimed = await room.curation.claim(10, room.clock())
    rewrite = Rewrite("142 passed in 8.31s", 0, 0)
    await Changes(room.store, room.rings, room.observer).revise(profile, memory_id, rewrite, room.clock())
    late = {memory_id: Verdict(Ring.SHOCK, 0.9, "cue:loss")}

    assert not await room.curation.keep(profile, claimed[profile], late, room.clock())
    assert await a_curator(room).curate() == 1
    assert (await standing(room, memory_id))[:2] == (Ring.FRESH, 1)


async def test_what_was_superseded_keeps_its_ring(room: Memories) -> None:
    """Only the newer one is looked at."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    claimed = await room.curation.claim(10, room.clock())
    _, newer = await Changes(room.store, room.rings, room.observer).supersede(
        WORKSPACE, profile, memory_id, f"{DISASTER} And the backup, too.", GRPC, 10, room.clock()
    )
    late = {memory_id: Verdict(Ring.SHOCK, 0.9, "cue:loss")}

    assert not await room.curation.keep(profile, claimed[profile], late, room.clock())
    assert await a_curator(room).curate() == 1
    assert (await standing(room, memory_id))[:2] == (1, None)
    assert (await standing(room, newer.id))[0] == Ring.SHOCK


async def test_a_look_is_no_touch(room: Memories) -> None:
    """What the curator leaves FRESH ages from when it was observed."""
    memory_id = await disaster(room, uuid4(), "142 passed in 8.31s")
    await room.grow_older(timedelta(days=6))
    times = "SELECT used_at, staged_at FROM memory.memory WHERE id = $1"
    before = await room.rows(times, memory_id)

    assert await a_curator(room).curate() == 1
    assert await room.rows(times, memory_id) == before


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
    await room.rings.reinforce(profile, memory_id, Outcome.FAILURE, "", room.clock())
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
    """Nothing is made of it, and nobody looks for it again until it is brought back."""
    profile = uuid4()
    memory_id = await disaster(room, profile)
    await room.rings.delete(profile, memory_id, room.clock() + timedelta(hours=1))

    assert await a_curator(room).curate() == 0
    assert await waiting(room) == 0

    await room.rings.restore(profile, memory_id, 10, room.clock())
    assert await a_curator(room).curate() == 1
    assert (await standing(room, memory_id))[0] == Ring.SHOCK


async def test_an_unreadable_memory_holds_up_no_other(room: Memories) -> None:
    """Neither one that waits itself nor one that is close to what waits."""
    profile = uuid4()
    broken, close = await disaster(room, profile), await disaster(room, profile, f"{DISASTER} Again.")
    await room.rows("UPDATE memory.memory SET content_sealed = 'x' WHERE id = $1", broken)
    assert await a_curator(room).curate() == 2
    assert await waiting(room) == 0
    later = await disaster(room, profile, f"{DISASTER} Once more.")
    await a_curator(room).curate()

    assert (await standing(room, broken))[0] == Ring.FRESH
    assert [(await standing(room, one))[0] for one in (close, later)] == [Ring.SHOCK] * 2


async def test_what_was_repeated_before_its_turn_may_repeat_something(room: Memories) -> None:
    """It is PRACTICE by then, and what it repeats is reinforced by all of them."""
    profile = uuid4()
    one, other = await room.session(profile), await room.session(profile)
    first = (await room.observe(profile, one, "Restart the worker after every deploy")).memory.id
    await a_curator(room).curate()
    room.clock.passes(seconds=1)
    again = [await room.observe(profile, other, "After every deploy, restart the worker") for _ in range(3)]
    assert (await standing(room, again[0].memory.id))[0] == Ring.PRACTICE
    await a_curator(room).curate()

    rows = await room.rows(
        "SELECT superseded_by, repeats, reinforcement_count FROM memory.memory ORDER BY repeats"
    )
    assert [tuple(row) for row in rows] == [(None, False, 3), (first, True, 2)]

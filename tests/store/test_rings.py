"""What holds for memories that change in the database itself, whoever changes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from libs.data.faults import Unkeepable
from libs.data.sealing import SealedRecordBroken
from libs.language.tokens import TokenCounter
from services.memory.memories.memory import MemoryNotFound
from services.memory.memories.rings import Outcome, Ring
from services.memory.rings.changes import Changes
from services.memory.rings.revisions import Rewrite
from services.memory.rings.standing import Wish
from services.memory.sessions.reports import Noted, Totals, summarise
from services.memory.sessions.store import Composed
from tests.rig.memory import Memories, memories_in
from tests.rig.postgres import Cluster

TRACES = ("memory", "posting", "tag", "alias", "pending", "version", "deleted")
UNDO = timedelta(hours=24)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    """Built once."""
    return TokenCounter()


@pytest.fixture
async def room(cluster: Cluster, counter: TokenCounter) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, counter) as memories:
        yield memories


async def a_shock(room: Memories, profile: UUID) -> UUID:
    """A memory in SHOCK, put there with a note."""
    kept = await room.observe(profile, await room.session(profile), "The disk was wiped.")
    await room.rings.promote(profile, Wish(kept.memory.id, Ring.SHOCK, "A day lost.", False), room.clock())
    return kept.memory.id


@pytest.mark.parametrize(
    "change",
    ["ring = 1", "ring = 4, successes = 9", "ring = 3, ring_note_sealed = NULL", "ring = 2, version = 2"],
)
async def test_no_statement_takes_a_shock_out_by_accident(room: Memories, change: str) -> None:
    """Whatever else it writes; only a new note lets it pass."""
    profile = uuid4()
    memory_id = await a_shock(room, profile)
    update = f"UPDATE memory.memory SET {change} WHERE profile_id = $1 AND id = $2"  # noqa: S608 -- of this file

    with pytest.raises(Unkeepable):
        async with room.database.as_profile(profile) as connection:
            await connection.execute(update, profile, memory_id)

    async with room.database.as_profile(profile) as connection:
        noted = update.replace("ring_note_sealed = NULL", "updated_at = updated_at")
        noted = noted.replace(" WHERE", ", ring_note_sealed = '\\x01' WHERE")
        assert await connection.execute(noted, profile, memory_id) == "UPDATE 1"


@pytest.mark.parametrize("successes", [0, 1])
async def test_no_statement_puts_into_long_term_what_has_not_earned_it(
    room: Memories, successes: int
) -> None:
    """M7: the mean is computed in whole numbers, so there is no NaN that could pass."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), "Rain.")
    update = "UPDATE memory.memory SET ring = 4, successes = $3 WHERE profile_id = $1 AND id = $2"

    with pytest.raises(Unkeepable):
        async with room.database.as_profile(profile) as connection:
            await connection.execute(update, profile, kept.memory.id, successes)


@pytest.mark.parametrize("confidence", ["NaN", "1.01", "-0.01", "Infinity"])
async def test_a_confidence_is_a_share(room: Memories, confidence: str) -> None:
    """From 0 to 1, and a number."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), "Rain.")
    update = "UPDATE memory.memory SET ring_confidence = $3::text::real WHERE profile_id = $1 AND id = $2"

    with pytest.raises(Unkeepable):
        async with room.database.as_profile(profile) as connection:
            await connection.execute(update, profile, kept.memory.id, confidence)


async def a_whole_one(room: Memories, profile: UUID) -> UUID:
    """A memory with everything that one can leave behind."""
    kept = await room.observe(
        profile, await room.session(profile), "Deploys need make.", tags=["t"], aliases=["a"], actor="Mia"
    )
    changes = Changes(room.store, room.rings, room.observer)
    await changes.revise(profile, kept.memory.id, Rewrite("Deploys need ninja.", 0, 0), room.clock())
    return kept.memory.id


async def left(room: Memories) -> set[str]:
    """The tables that hold anything."""
    rows = {name: await room.rows(f"SELECT FROM memory.{name}") for name in TRACES}
    return {name for name, found in rows.items() if found}


async def test_what_is_deleted_is_purged_when_its_time_is_over(room: Memories) -> None:
    """Until then only what can bring it back is there; after that nothing, and nothing brings it back."""
    profile = uuid4()
    memory_id = await a_whole_one(room, profile)
    await room.rings.delete(profile, memory_id, room.clock() + UNDO)

    assert await left(room) == {"deleted", "version"}
    room.clock.passes(hours=24, seconds=-1)
    assert await room.rings.purge(10, room.clock()) == 0
    room.clock.passes(seconds=1)
    with pytest.raises(MemoryNotFound):
        await room.rings.restore(profile, memory_id, room.memories_max, room.clock())
    assert await room.rings.purge(10, room.clock()) == 1
    assert await left(room) == set()


async def test_without_an_undo_nothing_is_left(room: Memories) -> None:
    """At once."""
    profile = uuid4()
    memory_id = await a_whole_one(room, profile)
    await room.rings.delete(profile, memory_id, None)

    assert await left(room) == set()
    with pytest.raises(MemoryNotFound):
        await room.rings.restore(profile, memory_id, room.memories_max, room.clock())


async def test_what_waits_for_a_vector_still_waits_when_it_is_back(room: Memories) -> None:
    """Deleted and brought back while the embedder was away, it is embedded later."""
    profile = uuid4()
    room.embedder.away = True
    kept = await room.observe(profile, await room.session(profile), "Rain.")
    await room.rings.delete(profile, kept.memory.id, room.clock() + UNDO)
    back = await room.rings.restore(profile, kept.memory.id, room.memories_max, room.clock())

    assert not back.embedding_model
    assert [row["memory_id"] for row in await room.rows("SELECT memory_id FROM memory.pending")] == [back.id]


async def test_an_old_text_does_not_open_in_a_new_version(room: Memories) -> None:
    """What is sealed is bound to its version: put back into the row, the old words are refused."""
    profile = uuid4()
    memory_id = await a_whole_one(room, profile)
    await room.rows(
        "UPDATE memory.memory m SET content_sealed = v.content_sealed FROM memory.version v"
        " WHERE v.memory_id = m.id RETURNING m.id"
    )

    with pytest.raises(SealedRecordBroken):
        await room.store.get(profile, [memory_id])


async def test_reinforcing_is_no_observation(room: Memories) -> None:
    """A Z-report counts what was observed, and the outcomes that were recorded either way."""
    profile = uuid4()
    session = await room.session(profile)
    kept = await room.observe(profile, session, "Rain.", outcome=Outcome.SUCCESS)
    await room.observe(profile, session, "Rain.")
    for _ in range(3):
        await room.rings.reinforce(profile, kept.memory.id, Outcome.SUCCESS, "", room.clock())

    async def told(_: UUID, noted: Sequence[Noted], totals: Totals) -> Composed:
        return Composed(summarise(noted, totals), 1)

    report, _ = await room.sessions.end(profile, session, told, room.memories_max, room.clock())

    assert (report.totals.observations, report.totals.successes) == (2, 4)

"""How memories age in the database: who is due, who may move it, and what is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from libs.data import checks, migrations, sql
from libs.language.tokens import TokenCounter
from services.memory.lifecycle.ages import ATTEMPTS_MAX, Result, Step, Taken, Wait
from services.memory.memories.memory import MemoriesFull, Memory, MemoryNotFound
from services.memory.memories.rings import Outcome, Ring, Stage
from services.memory.service import SCHEMA
from tests.rig.memory import WORKSPACE, Memories, a_raw, memories_in
from tests.rig.postgres import Cluster

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
STAGES = (Stage.FULL, Stage.COMPRESSED, Stage.SUMMARY, Stage.ESSENCE)
TOKENS = {Stage.COMPRESSED: 250, Stage.SUMMARY: 150, Stage.ESSENCE: 50, Stage.FORGOTTEN: 0}
WAITS = [Wait(WORKSPACE, stage, pace, WEEK) for stage in STAGES for pace in range(8)]
FRESH = Wait(WORKSPACE, None, 0, WEEK)
LONG = " ".join(
    f"Deploy {number} to host-{number} took {number * 7} seconds and must not run before step {number - 1}."
    for number in range(1, 40)
)


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    """Built once."""
    return TokenCounter()


@pytest.fixture
async def room(cluster: Cluster, counter: TokenCounter) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, counter) as memories:
        yield memories


async def take(room: Memories, waits: Sequence[Wait] = WAITS, limit: int = 100) -> Taken:
    """Lease what is due."""
    return await room.lifecycle.take_due(waits, None, limit, None)


def steps(taken: Taken, *, keep_original: bool = False) -> list[Step]:
    """The next stage for everything that was taken."""
    return [
        Step(due.profile, due.memory_id, to, TOKENS[to], keep_original)
        for due in taken.due
        for to in [Stage.FORGOTTEN if due.fresh else Stage(due.stage + 1)]
    ]


async def sweep(
    room: Memories, waits: Sequence[Wait] = WAITS, *, keep_original: bool = False
) -> list[Result]:
    """Take what is due and move it."""
    taken = await take(room, waits)
    if not taken.due:
        return []
    moved = await room.restager.restage(taken.token, steps(taken, keep_original=keep_original))
    return [each.result for each in moved]


async def settled(room: Memories, *texts: str) -> tuple[UUID, list[UUID]]:
    """A profile and its memories in ring PRACTICE, a week and a day old."""
    profile = uuid4()
    session = await room.session(profile)
    kept = await room.observe_all(profile, session, *(a_raw(text) for text in texts))
    await room.promote(Ring.PRACTICE)
    await room.grow_older(WEEK + DAY)
    return profile, [each.memory.id for each in kept]


async def read(room: Memories, profile: UUID, memory_id: UUID) -> Memory:
    """A memory as it is kept."""
    return (await room.store.get(profile, [memory_id]))[memory_id]


async def count(room: Memories, table: str) -> int:
    """Rows of a table, of whomever."""
    [row] = await room.rows(f"SELECT count(*) FROM memory.{table}")  # noqa: S608 -- a table of ours
    return row["count"]


async def test_every_query_prepares(room: Memories) -> None:
    """Postgres accepts the names and types of each query, as the role that will run it."""
    async with migrations.owner(room.dsn) as connection:
        await connection.execute(f"SET ROLE {SCHEMA.role}")
        for name, query in sql.load("services.memory.lifecycle"):
            await connection.execute(f"PREPARE {name} AS {query.rstrip(';')}")


async def test_isolation_holds(room: Memories) -> None:
    """Leases and tombstones are walled like all that is kept of profiles."""
    tables = await checks.profile_tables(room.database, SCHEMA.schema)

    assert {"memory.lease", "memory.tombstone"} <= set(tables)
    await checks.isolation_self_test(room.database, tables)


async def test_stages_follow_one_another_and_only_shrink(room: Memories) -> None:
    """D1, M10: full, compressed, summary, essence, gone; the counts are those of what is kept."""
    profile, [memory_id] = await settled(room, LONG)
    seen = [await read(room, profile, memory_id)]
    for _ in range(3):
        assert await sweep(room) == [Result.MOVED]
        seen.append(await read(room, profile, memory_id))
        await room.grow_older(WEEK + DAY)
    last = await sweep(room)

    assert [memory.stage for memory in seen] == list(STAGES)
    tokens = [memory.texts.content_tokens for memory in seen]
    assert tokens == [room.counter.count(memory.texts.content) for memory in seen]
    assert tokens == sorted(tokens, reverse=True)
    assert all(spent <= limit for spent, limit in zip(tokens[1:], TOKENS.values(), strict=False))
    for memory in seen:
        assert memory.texts.content_tokens >= memory.texts.summary_tokens >= memory.texts.essence_tokens
    assert last == [Result.MOVED]
    assert await room.store.get(profile, [memory_id]) == {}


async def test_a_short_text_stays_letter_by_letter(room: Memories) -> None:
    """What fits a stage is not touched by it: no space, no line break is lost."""
    text = "Restart:\n  1. stop nginx\n  2. start nginx"
    profile, [memory_id] = await settled(room, text)
    for _ in range(3):
        await sweep(room)
        await room.grow_older(WEEK + DAY)

    memory = await read(room, profile, memory_id)
    assert (memory.stage, memory.texts.content) == (Stage.ESSENCE, text)


async def test_one_step_however_late(room: Memories) -> None:
    """D6: after ten years without a sweep a memory moves one stage, and its next wait begins then."""
    profile, [memory_id] = await settled(room, LONG)
    await room.grow_older(3650 * DAY)

    first, second = await sweep(room), await sweep(room)

    assert (first, second) == ([Result.MOVED], [])
    assert (await read(room, profile, memory_id)).stage is Stage.COMPRESSED


async def test_the_databases_clock_alone_decides(room: Memories) -> None:
    """D6: with the service's clock 400 days off either way nothing is due earlier or later."""
    profile = uuid4()
    session = await room.session(profile)
    room.clock.passes(days=-400)
    early = await room.observe(profile, session, "early")
    room.clock.passes(days=800)
    late = await room.observe(profile, session, "late")
    await room.promote(Ring.PRACTICE)
    young = await sweep(room)
    await room.grow_older(WEEK + DAY)
    old = await sweep(room)

    assert young == []
    assert old == [Result.MOVED, Result.MOVED]
    assert len(await room.store.get(profile, [early.memory.id, late.memory.id])) == 2


async def test_a_moment_in_the_future_is_no_age(room: Memories) -> None:
    """D6: after the database's clock was set back nothing decays early and nothing breaks."""
    await settled(room, "x")
    await room.grow_older(-400 * DAY)

    assert await sweep(room) == []


async def test_a_read_makes_it_young(room: Memories) -> None:
    """D5: whoever is read waits anew, whatever the service's clock says."""
    profile, [read_one, other] = await settled(room, "read", "other")
    room.clock.passes(days=-1000)
    await room.store.touch(profile, {read_one: 1}, room.clock())

    taken = await take(room)

    assert [due.memory_id for due in taken.due] == [other]


async def test_a_read_between_taking_and_moving_wins(room: Memories) -> None:
    """D4: an access that commits first undoes the step; one that comes after renews the new stage."""
    profile, [memory_id] = await settled(room, LONG)
    taken = await take(room)
    await room.store.touch(profile, {memory_id: 1}, room.clock())
    first = await room.restager.restage(taken.token, steps(taken))
    kept = await read(room, profile, memory_id)
    await room.grow_older(WEEK + DAY)
    await sweep(room)
    await room.store.touch(profile, {memory_id: 1}, room.clock())

    assert [each.result for each in first] == [Result.SKIPPED]
    assert (kept.stage, kept.texts.content) == (Stage.FULL, LONG)
    compressed = await read(room, profile, memory_id)
    assert (compressed.stage, compressed.access_count) == (Stage.COMPRESSED, 2)
    assert compressed.texts.content != LONG
    assert await count(room, "lease") == 0


async def test_seen_again_it_is_young_and_stays_short(room: Memories) -> None:
    """D4: observing the same again counts for the memory that is there and brings no text back."""
    profile, [memory_id] = await settled(room, LONG)
    await sweep(room)
    session = (await read(room, profile, memory_id)).session_id
    again = await room.observe(profile, session, LONG)

    assert again.reinforced
    assert again.memory.id == memory_id
    assert again.memory.stage is Stage.COMPRESSED
    assert again.memory.texts.content != LONG


async def test_eight_take_each_memory_once(room: Memories) -> None:
    """D2: any number of takers are given different memories, and what one has no other can move."""
    await settled(room, *(f"text {number}" for number in range(80)))

    taken = await asyncio.gather(*(take(room, limit=20) for _ in range(8)))

    ids = [due.memory_id for each in taken for due in each.due]
    assert len(ids) == len(set(ids)) == 80
    stolen = await room.restager.restage(taken[0].token, steps(next(each for each in taken[1:] if each.due)))
    assert {each.result for each in stolen} == {Result.SKIPPED}


async def test_a_lease_that_ended_moves_nothing(room: Memories) -> None:
    """D2: who comes back after the lease finds it with another, and cannot undo what that one did."""
    profile, [memory_id] = await settled(room, LONG)
    slow = await take(room)
    await room.rows("UPDATE memory.lease SET until = now() - interval '1 second'")
    late = await room.restager.restage(slow.token, steps(slow))
    await room.rows("UPDATE memory.lease SET until = now() - interval '1 second'")
    quick = await take(room)
    moved = await room.restager.restage(quick.token, steps(quick))
    again = await room.restager.restage(slow.token, steps(slow))

    assert [each[0].result for each in (late, moved, again)] == [Result.SKIPPED, Result.MOVED, Result.SKIPPED]
    assert (await read(room, profile, memory_id)).stage is Stage.COMPRESSED


async def test_no_step_skips_a_stage(room: Memories) -> None:
    """D1: whatever is asked for, only the next stage is taken; only FRESH is forgotten earlier."""
    profile, [memory_id] = await settled(room, LONG)
    for stage in (Stage.SUMMARY, Stage.ESSENCE, Stage.FORGOTTEN):
        await room.rows("DELETE FROM memory.lease")
        taken = await take(room)
        asked = [Step(profile, memory_id, stage, 50, False)]
        assert [each.result for each in await room.restager.restage(taken.token, asked)] == [Result.SKIPPED]

    assert (await read(room, profile, memory_id)).stage is Stage.FULL


async def test_shocks_never_move(room: Memories) -> None:
    """D7: they are never due, the database moves none, and what became a shock meanwhile stays."""
    profile, [memory_id] = await settled(room, "never push --force to main")
    taken = await take(room)
    await room.promote(Ring.SHOCK)
    moved = await room.restager.restage(taken.token, steps(taken))
    await room.grow_older(3650 * DAY)
    due = await take(room, [*WAITS, FRESH])

    assert [each.result for each in moved] == [Result.SKIPPED]
    assert due.due == []
    assert (await read(room, profile, memory_id)).stage is Stage.FULL
    with pytest.raises(asyncpg.CheckViolationError, match="a shock keeps its stage"):
        await room.rows("UPDATE memory.memory SET stage = 2")


async def test_fresh_and_untouched_is_gone_in_one_step(room: Memories) -> None:
    """What was never promoted goes after its wait; touching or promoting it saves it."""
    profile = uuid4()
    session = await room.session(profile)
    texts = ("left", "touched", "promoted")
    kept = await room.observe_all(profile, session, *(a_raw(text) for text in texts))
    left, touched, promoted = (each.memory.id for each in kept)
    await room.grow_older(WEEK + DAY)
    await room.store.touch(profile, {touched: 1}, room.clock())
    await room.promote(Ring.PROCEDURE, promoted)

    results = await sweep(room, [FRESH])

    assert results == [Result.MOVED]
    assert set(await room.store.get(profile, [left, touched, promoted])) == {touched, promoted}
    [tombstone] = await room.rows("SELECT profile_id, id, reason FROM memory.tombstone")
    assert tuple(tombstone) == (profile, left, "untouched")


async def test_fresh_memories_shrink_before_they_go(room: Memories) -> None:
    """A short policy holds for what is not classified too, and its last day counts from its last touch."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), LONG)
    days = [Wait(WORKSPACE, stage, 0, 3 * DAY) for stage in STAGES]
    stages: list[Stage] = []
    for _ in range(2):
        await room.grow_older(3 * DAY)
        await sweep(room, [*days, FRESH])
        stages.append((await read(room, profile, kept.memory.id)).stage)
    await room.grow_older(DAY)
    await sweep(room, [*days, FRESH])

    assert stages == [Stage.COMPRESSED, Stage.SUMMARY]
    assert await room.store.get(profile, [kept.memory.id]) == {}


async def test_pace_is_what_the_numbers_say(room: Memories) -> None:
    """Read over 20 times, observed again over 5 times, success below 0.3: each counts from one more on."""
    profile = uuid4()
    session = await room.session(profile)
    [a, b, c, d] = [(await room.observe(profile, session, text)).memory.id for text in ("a", "b", "c", "d")]
    await room.store.touch(profile, {a: 21, d: 20}, room.clock())
    for _ in range(6):
        await room.observe(profile, session, "b")
    for _ in range(5):
        await room.observe(profile, session, "d")
    for _ in range(2):
        await room.observe(profile, session, "c", outcome=Outcome.FAILURE)
    await room.observe(profile, session, "d", outcome=Outcome.FAILURE)
    await room.rows("UPDATE memory.memory SET reinforcement_count = 5 WHERE id = $1", d)
    ages, _ = await room.lifecycle.ages(profile, None, UUID(int=0), 10)

    assert {age.memory_id: age.pace for age in ages} == {a: 1, b: 2, c: 4, d: 0}


async def test_a_poisoned_memory_is_set_aside(room: Memories) -> None:
    """D11: one that cannot be opened fails five times, then rests a day; the others move at the first try."""
    profile, [poisoned, *others] = await settled(room, *(f"{LONG} {number}" for number in range(4)))
    await room.rows("UPDATE memory.memory SET content_sealed = 'x' WHERE id = $1", poisoned)
    results = [sorted(await sweep(room))]
    for _ in range(ATTEMPTS_MAX):
        assert await sweep(room) == []
        await room.rows(
            "UPDATE memory.lease SET until = least(until, now() + interval '1 hour') - interval '1 hour'"
        )
        results.append(await sweep(room))
    [lease] = await room.rows(
        "SELECT attempts, until > now() + interval '23 hours' AS aside FROM memory.lease"
    )

    assert results[0] == [Result.MOVED] * 3 + [Result.FAILED]
    assert results[1:4] == [[Result.FAILED]] * 3
    assert results[4:] == [[Result.SET_ASIDE]] * 2
    assert lease["aside"]
    stages = {(await read(room, profile, one)).stage for one in others}
    assert stages == {Stage.COMPRESSED}


async def test_forgotten_is_gone(room: Memories) -> None:
    """D9: row, terms, vector, tags, aliases and leases go together; a tombstone stays."""
    profile = uuid4()
    session = await room.session(profile)
    kept = await room.observe(profile, session, LONG, tags=["deploys"], aliases=["the deploys"])
    await room.promote(Ring.PRACTICE)
    for _ in range(4):
        await room.grow_older(WEEK + DAY)
        assert await sweep(room, keep_original=True) == [Result.MOVED]

    for table in ("memory", "posting", "tag", "alias", "pending", "lease"):
        assert await count(room, table) == 0, table
    [tombstone] = await room.rows("SELECT * FROM memory.tombstone")
    assert set(tombstone.keys()) == {"profile_id", "id", "forgotten_at", "reason"}
    assert (tombstone["id"], tombstone["reason"]) == (kept.memory.id, "aged")
    [held] = await room.rows("SELECT observation_count FROM memory.session")
    assert held["observation_count"] == 0
    with pytest.raises(MemoryNotFound):
        await room.rings.delete(profile, kept.memory.id, None)


async def test_forgetting_gives_room_back(room: Memories) -> None:
    """A quota counts what is there: a full profile can remember again once something was forgotten."""
    profile, _ = await settled(room, "a", "b")
    room.memories_max = 2
    session = await room.session(profile)
    with pytest.raises(MemoriesFull):
        await room.observe(profile, session, "c")
    await room.rows("UPDATE memory.memory SET stage = 4")
    await sweep(room)
    await room.observe(profile, session, "c")
    [usage] = await room.rows("SELECT memories FROM memory.usage WHERE profile_id = $1", profile)

    assert usage["memories"] == 1


async def test_tombstones_crumble(room: Memories) -> None:
    """Thirty days later nothing says that there was a memory."""
    await settled(room, "x")
    await room.rows("UPDATE memory.memory SET stage = 4")
    await sweep(room)
    kept = await room.lifecycle.forget_tombstones(10)
    await room.rows("UPDATE memory.tombstone SET forgotten_at = forgotten_at - interval '30 days'")

    assert (kept, await room.lifecycle.forget_tombstones(10)) == (0, 1)


async def test_a_late_vector_revives_nothing(room: Memories) -> None:
    """D10: an embedding that arrives after a memory was forgotten finds nothing to be put into."""
    room.embedder.away = True
    profile, [memory_id] = await settled(room, LONG)
    room.embedder.away = False
    waiting = await room.pending.texts(profile, [memory_id])
    await room.rows("UPDATE memory.memory SET stage = 4")
    await sweep(room)
    vectors = await room.embedder.embed([each.text for each in waiting])
    await room.pending.keep(profile, "letters", waiting, vectors)

    assert await room.store.get(profile, [memory_id]) == {}


async def test_originals_are_kept_where_the_policy_says_so(room: Memories) -> None:
    """The full text stays, sealed, for a new model to be embedded with; with the policy gone it goes too."""
    profile, [memory_id] = await settled(room, LONG)
    await sweep(room, keep_original=True)
    [kept] = await room.pending.texts(profile, [memory_id])
    short = (await read(room, profile, memory_id)).texts.content
    await room.grow_older(WEEK + DAY)
    await sweep(room)
    [left] = await room.pending.texts(profile, [memory_id])

    assert (kept.text, short != LONG) == (LONG, True)
    assert room.counter.count(left.text) <= TOKENS[Stage.SUMMARY]


async def test_what_is_searched_stays(room: Memories) -> None:
    """Terms and the vector of the full text are those of the first day at every stage."""
    await settled(room, LONG)

    async def searched() -> list[object]:
        terms = await room.rows("SELECT term, tf, length FROM memory.posting ORDER BY term")
        return [*terms, *await room.rows("SELECT embedding::text, embedding_model FROM memory.memory")]

    first = await searched()
    for _ in range(3):
        await sweep(room)
        assert await searched() == first
        await room.grow_older(WEEK + DAY)


async def test_workspaces_are_found_one_by_one(room: Memories) -> None:
    """Each that has memories which can age, in order, a page at a time; shocks do not count."""
    for number in (9, 3, 5):
        profile = uuid4()
        await room.observe(profile, await room.session(profile), "x")
        await room.rows(
            "UPDATE memory.memory SET workspace_id = $1 WHERE profile_id = $2", UUID(int=number), profile
        )
    await room.rows("UPDATE memory.memory SET ring = 5 WHERE workspace_id = $1", UUID(int=5))

    assert await room.lifecycle.workspaces(UUID(int=0), 10) == [UUID(int=3), UUID(int=9)]
    assert await room.lifecycle.workspaces(UUID(int=0), 1) == [UUID(int=3)]
    assert await room.lifecycle.workspaces(UUID(int=3), 10) == [UUID(int=9)]


async def test_what_was_kept_before_has_no_workspace(room: Memories) -> None:
    """Rows of the version before fall under the nil workspace and age from the day of the upgrade."""
    profile = uuid4()
    kept = await room.observe(profile, await room.session(profile), "x")
    [row] = await room.rows("SELECT workspace_id FROM memory.memory WHERE id = $1", kept.memory.id)

    assert row["workspace_id"] == WORKSPACE

"""Sessions end once, whatever happens: killed enders, many closers, reports that become memories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from libs.errors import Unavailable
from libs.language.tokens import TokenCounter
from services.memory.memories.rings import Outcome
from services.memory.rings.changes import Changes
from services.memory.sessions.reporter import Reporter
from services.memory.sessions.reports import Noted, Totals, ZReportNotReady
from services.memory.sessions.session import SessionClosed, SessionState
from services.memory.sessions.store import Composed
from tests.rig.memory import GRPC, WORKSPACE, Memories, memories_in
from tests.rig.postgres import Cluster

DAY = timedelta(hours=24)


@pytest.fixture
async def room(cluster: Cluster) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, TokenCounter()) as memories:
        yield memories


def a_reporter(room: Memories) -> Reporter:
    """One replica's."""
    return Reporter(room.sessions, room.observer, room.counter, None, room.clock, room.memories_max)


async def killed(profile: UUID, noted: Sequence[Noted], totals: Totals) -> Composed:
    """Whoever tells it does not come to its end."""
    raise Unavailable


async def a_session(room: Memories, profile: UUID, successes: int, failures: int = 0) -> UUID:
    """An open session with these outcomes."""
    session = await room.session(profile)
    for number in range(successes + failures):
        outcome = Outcome.SUCCESS if number < successes else Outcome.FAILURE
        await room.observe(profile, session, f"The harbour crane lifted load {number}.", outcome=outcome)
    return session


@pytest.mark.parametrize(
    ("successes", "failures", "promoted"),
    [(0, 0, False), (1, 0, False), (2, 0, True), (6, 2, True), (6, 3, False)],
)
async def test_a_report_of_what_went_well_is_promoted(
    room: Memories, successes: int, failures: int, promoted: bool
) -> None:
    """From a mean of 0.7 on; the memory has the session's outcomes, stands in LONG_TERM, and is indexed."""
    profile = uuid4()
    session = await a_session(room, profile, successes, failures)
    report, ended = await a_reporter(room).end(profile, session, room.memories_max)

    rows = await room.rows(
        "SELECT m.id, m.ring, m.successes, m.failures,"
        " (SELECT count(*) FROM memory.posting p WHERE p.memory_id = m.id) AS terms"
        " FROM memory.memory m WHERE m.ring_reason = 'z_report'"
    )
    expected = [(report.memory_id, 4, successes, failures)] if promoted else []
    assert [tuple(row)[:4] for row in rows] == expected
    assert all(row["terms"] > 0 for row in rows)
    assert (report.memory_id is not None) == promoted
    assert ended.observation_count == successes + failures + promoted
    assert report.totals.observations == successes + failures


async def test_sixteen_ends_promote_once(room: Memories) -> None:
    """M9: one report and one memory, whoever comes first."""
    profile = uuid4()
    session = await a_session(room, profile, 3)
    ends = await asyncio.gather(
        *(a_reporter(room).end(profile, session, room.memories_max) for _ in range(16))
    )

    assert all(end == ends[0] for end in ends)
    for table, count in (("z_report", 1), ("memory", 4)):
        [row] = await room.rows(f"SELECT count(*) FROM memory.{table}")  # noqa: S608
        assert row[0] == count


async def test_a_report_that_was_not_written_is_written_by_the_next(room: Memories) -> None:
    """M9: killed between end and report, the session takes nothing more; whoever ends it again reports it."""
    profile = uuid4()
    session = await a_session(room, profile, 2)
    with pytest.raises(Unavailable):
        await room.sessions.end(profile, session, killed, room.memories_max, room.clock())
    with pytest.raises(ZReportNotReady):
        await room.sessions.report(profile, session)
    with pytest.raises(SessionClosed):
        await room.observe(profile, session, "late")
    closed_at = room.clock()
    room.clock.passes(minutes=1)

    report, ended = await a_reporter(room).end(profile, session, room.memories_max)

    assert report.created_at == ended.ended_at == closed_at
    assert report.totals == Totals(2, 2, 0)


async def test_the_chore_finishes_what_was_killed(room: Memories) -> None:
    """Nobody has to ask again."""
    profile = uuid4()
    session = await a_session(room, profile, 2)
    with pytest.raises(Unavailable):
        await room.sessions.end(profile, session, killed, room.memories_max, room.clock())
    assert await a_reporter(room).end_idle(DAY) == 0
    room.clock.passes(minutes=6)

    assert await a_reporter(room).end_idle(DAY) == 1
    assert (await room.sessions.report(profile, session)).memory_id


async def test_eight_close_what_nobody_uses_once(room: Memories) -> None:
    """After a day without activity, with a report; what was used since stays open."""
    profiles = [uuid4() for _ in range(30)]
    idle = [await a_session(room, profile, 2) for profile in profiles]
    room.clock.passes(hours=23)
    used = await a_session(room, profiles[0], 1)
    room.clock.passes(hours=1)

    claimed = await asyncio.gather(*(a_reporter(room).end_idle(DAY) for _ in range(8)))

    assert sum(claimed) == len(idle)
    for profile, session in zip(profiles, idle, strict=True):
        assert (await room.sessions.get(profile, session)).state is SessionState.ENDED
        assert (await room.sessions.report(profile, session)).totals.successes == 2
    assert (await room.sessions.get(profiles[0], used)).state is SessionState.OPEN
    assert await a_reporter(room).end_idle(DAY) == 0


async def test_a_session_that_is_used_in_between_stays_open(room: Memories) -> None:
    """Taken as idle, then used: it is not ended."""
    profile = uuid4()
    session = await a_session(room, profile, 1)
    room.clock.passes(hours=25)
    before = room.clock() - DAY
    assert await room.sessions.claim_idle(10, before, room.clock()) == [(profile, session)]
    await room.observe(profile, session, "still at it")

    await room.sessions.end_idle(profile, session, killed, room.memories_max, before, room.clock())

    assert (await room.sessions.get(profile, session)).state is SessionState.OPEN


async def test_a_deleted_report_memory_leaves_the_report(room: Memories) -> None:
    """The report stays; it leads to nothing any more."""
    profile = uuid4()
    session = await a_session(room, profile, 2)
    report, _ = await a_reporter(room).end(profile, session, room.memories_max)
    assert report.memory_id
    await room.rings.delete(profile, report.memory_id, room.clock() + DAY)
    deleted = await room.sessions.report(profile, session)
    await room.rings.restore(profile, report.memory_id, 10, room.clock())

    assert deleted.memory_id is None
    assert await room.sessions.reports(profile, 10, None) == [report]


@pytest.mark.parametrize("undo", [False, True])
async def test_a_report_does_not_name_what_is_gone(room: Memories, undo: bool) -> None:
    """Deleted at once, or purged when it can no longer be brought back: not in the row either."""
    profile = uuid4()
    session = await a_session(room, profile, 2)
    report, _ = await a_reporter(room).end(profile, session, room.memories_max)
    assert report.memory_id
    await room.rings.delete(profile, report.memory_id, room.clock() + DAY if undo else None)
    [row] = await room.rows("SELECT memory_id FROM memory.z_report")
    assert row["memory_id"] == (report.memory_id if undo else None)
    room.clock.passes(hours=25)
    await room.rings.purge(10, room.clock())

    [row] = await room.rows("SELECT memory_id FROM memory.z_report")
    assert row["memory_id"] is None


@pytest.mark.parametrize("chore", [False, True])
async def test_a_full_profile_gets_the_report_alone(room: Memories, chore: bool) -> None:
    """Whoever ends the session: no memory goes past the quota."""
    room.memories_max = 2
    profile = uuid4()
    session = await a_session(room, profile, 2)
    room.clock.passes(hours=25)
    if chore:
        assert await a_reporter(room).end_idle(DAY) == 1
    else:
        await a_reporter(room).end(profile, session, room.memories_max)

    report = await room.sessions.report(profile, session)
    assert (report.memory_id, report.totals.observations) == (None, 2)
    [row] = await room.rows("SELECT memories FROM memory.usage")
    assert row[0] == 2


async def test_a_report_ages_with_what_it_tells_of(room: Memories) -> None:
    """Its memory is of the same workspace, also when the chore writes it."""
    profile = uuid4()
    await a_session(room, profile, 2)
    room.clock.passes(hours=25)
    assert await a_reporter(room).end_idle(DAY) == 1

    [row] = await room.rows("SELECT array_agg(DISTINCT workspace_id) FROM memory.memory")
    assert row[0] == [WORKSPACE]
    [row] = await room.rows("SELECT count(*) FROM memory.memory WHERE ring_reason = 'z_report'")
    assert row[0] == 1


async def test_a_report_tells_what_holds(room: Memories) -> None:
    """A fact that was superseded is counted, and not told."""
    profile = uuid4()
    session = await room.session(profile)
    older = (await room.observe(profile, session, "The crane lifts four tons.")).memory.id
    await Changes(room.store, room.rings, room.observer).supersede(
        WORKSPACE, profile, older, "The crane lifts five tons.", GRPC, 10, room.clock()
    )
    report, _ = await a_reporter(room).end(profile, session, room.memories_max)

    assert report.told.key_observations == ("The crane lifts five tons.",)
    assert report.totals.observations == 2

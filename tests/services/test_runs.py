"""RunService through the front door."""

from __future__ import annotations

import asyncio

from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as run

from libs.data import migrations
from tests.rig.house import Caller, House, unknown_id
from tests.rig.refusals import refused
from tests.rig.results import (
    CANCELLED,
    CLOSED,
    NO_RUN,
    finished,
    got,
    put,
    said,
    started,
    waited,
)


async def test_runs_begin_once(house: Caller) -> None:
    """The same again is the same run; another of that workflow id is refused; an implicit one is adopted."""
    first = await started(house, kind=run_pb2.RUN_KIND_SCHEDULED, goal="g")
    assert await started(house, kind=run_pb2.RUN_KIND_SCHEDULED, goal="g") == first
    assert await refused(started(house, goal="g")) == ("ALREADY_EXISTS", "RUN_EXISTS", [])
    own = await started(house, "")
    assert own.workflow_id == own.id

    step = await put(house, workflow_id="early")
    adopted = await started(house, "early", goal="told later")
    assert (adopted.id, adopted.implicit, adopted.goal) == (step.run_id, False, "told later")
    assert adopted.expires_at == step.expires_at


async def test_children_have_parents(house: Caller, neighbor: Caller) -> None:
    """Of the caller's own; nothing else has one."""
    child, mine = run_pb2.RUN_KIND_CHILD, await started(house)
    theirs = await started(neighbor)

    assert (await started(house, "c", kind=child, parent_run_id=mine.id)).parent_run_id == mine.id
    for parent in (theirs.id, unknown_id()):
        assert await refused(started(house, "d", kind=child, parent_run_id=parent)) == NO_RUN
    needed = ("INVALID_ARGUMENT", "INVALID_FIELD", ["parent_run_id"])
    assert await refused(started(house, "e", kind=child)) == needed
    assert await refused(started(house, "e", parent_run_id=mine.id)) == needed


async def test_memory_is_the_callers(house: Caller, neighbor: Caller) -> None:
    """Its own profile's id is taken without a word, any other name with a warning."""
    for owner, count in (("", 0), (house.profile_id, 0), (neighbor.profile_id, 1), (":bot:", 1)):
        answer = await house.runs.StartRun(run.StartRunRequest(memory_owner=owner))
        assert len(answer.warnings) == count


async def test_a_run_is_finished_once(house: Caller, house_site: House) -> None:
    """Sixteen at once are one; otherwise than before is refused; late results are kept."""
    begun = await started(house, goal="g")
    ends = await asyncio.gather(*(finished(house, begun.id, outcome="o") for _ in range(16)))

    assert all(each == ends[0] for each in ends)
    assert (ends[0].outcome, ends[0].goal, ends[0].state) == ("o", "g", run_pb2.RUN_STATE_SUCCEEDED)
    assert await refused(finished(house, begun.id, outcome="p")) == CLOSED
    assert await refused(house.runs.CancelRun(run.CancelRunRequest(run_id=begun.id))) == CLOSED
    assert (await put(house, "late")).task_id == "late"
    assert await episodes(house_site, begun.id) == 1


async def episodes(house_site: House, run_id: str) -> int:
    """How many episodes a run has in the journal."""
    query = "SELECT FROM results.episode WHERE run_id = $1::text::uuid"
    async with migrations.owner(house_site.dsn) as connection:
        return len(await connection.fetch(query, run_id))


async def test_a_cancelled_run_takes_nothing(house: Caller) -> None:
    """Twice is once; what is there stays, what is not ends the asking; finishing it is refused."""
    begun = await started(house)
    kept = await put(house)
    ended = await house.runs.CancelRun(run.CancelRunRequest(run_id=begun.id))

    assert await house.runs.CancelRun(run.CancelRunRequest(run_id=begun.id)) == ended
    assert await refused(put(house, "other")) == CANCELLED
    assert await refused(put(house, content="d", attempt=2)) == CANCELLED
    assert await refused(said(house, "Hi")) == CANCELLED
    assert await put(house) == kept
    assert (await got(house, "web")).content == "c"
    for call in (got(house, "other"), got(house), waited(house, "other"), finished(house, begun.id)):
        assert await refused(call) == CANCELLED


async def test_runs_are_listed(house: Caller, neighbor: Caller) -> None:
    """The newest first, by kind and state, in pages; another's are not there."""
    ids = [(await started(house, f"r{number}")).id for number in range(5)]
    await finished(house, ids[2])
    await started(house, "s", kind=run_pb2.RUN_KIND_SYSTEM)
    missions = run.ListRunsRequest(kind=run_pb2.RUN_KIND_MISSION, page_size=3)
    first = await house.runs.ListRuns(missions)
    missions.page_token = first.next_page_token
    second = await house.runs.ListRuns(missions)

    assert [each.id for each in (*first.runs, *second.runs)] == ids[::-1]
    done = await house.runs.ListRuns(run.ListRunsRequest(state=run_pb2.RUN_STATE_SUCCEEDED))
    assert [each.id for each in done.runs] == [ids[2]]
    assert not (await neighbor.runs.ListRuns(run.ListRunsRequest())).runs
    for call in (
        neighbor.runs.GetRunStatus(run.GetRunStatusRequest(run_id=ids[0])),
        neighbor.runs.CancelRun(run.CancelRunRequest(run_id=ids[0])),
        finished(neighbor, ids[0]),
    ):
        assert await refused(call) == NO_RUN

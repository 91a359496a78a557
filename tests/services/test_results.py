"""ResultsService and RunService through the front door."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import pytest
from treering.results.v1 import result_pb2, run_pb2
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as run

from libs.data import migrations
from services.results.results.streams import CHUNKS_MAX, STREAM_BYTES_MAX
from services.results.results.values import CONTENT_BYTES_MAX
from tests.rig.answers import problem
from tests.rig.house import Caller, House, unknown_id
from tests.rig.refusals import refused

NOT_READY = ("NOT_FOUND", "RESULT_NOT_READY", [])
UNKNOWN = ("NOT_FOUND", "RESULT_UNKNOWN", [])
EXPIRED = ("NOT_FOUND", "RESULT_EXPIRED", [])
CONFLICT = ("ALREADY_EXISTS", "RESULT_CONFLICT", [])
CANCELLED = ("FAILED_PRECONDITION", "RUN_CANCELLED", [])
CLOSED = ("FAILED_PRECONDITION", "RUN_CLOSED", [])
NO_RUN = ("NOT_FOUND", "RUN_NOT_FOUND", [])
SUCCEEDED, FAILED = run_pb2.STATUS_SUCCEEDED, run_pb2.STATUS_FAILED
MONTH_SECONDS = 2_592_000
PATH = "/v1/workflows/results"


async def put(
    house: Caller, task: str = "web", content: str = "c", workflow_id: str = "w", **fields: Any
) -> result_pb2.Step:
    """What is kept after a put into a run."""
    request = pb.PutResultRequest(workflow_id=workflow_id, task_id=task, content=content, **fields)
    return (await house.results.PutResult(request)).step


async def got(house: Caller, task: str = "", workflow: str = "w", part: int = 0) -> result_pb2.Result:
    """A result of the run `w`; without a task, the final one."""
    request = pb.GetResultRequest(workflow_id=workflow, task_id=task, part=part)
    return (await house.results.GetResult(request)).result


async def waited(house: Caller, task: str = "web", timeout: int = 30) -> result_pb2.Result:
    """A result that was waited for."""
    request = pb.WaitResultRequest(workflow_id="w", task_id=task, timeout=timeout)
    return (await house.results.WaitResult(request)).result


async def started(house: Caller, workflow: str = "w", **fields: Any) -> run_pb2.Run:
    """A run."""
    return (await house.runs.StartRun(run.StartRunRequest(workflow_id=workflow, **fields))).run


async def finished(house: Caller, run_id: str, status: Any = SUCCEEDED, **fields: Any) -> run_pb2.Run:
    """A run that has ended."""
    return (await house.runs.FinishRun(run.FinishRunRequest(run_id=run_id, status=status, **fields))).run


async def said(house: Caller, content: str, number: int | None = None) -> pb.AppendTurnResponse:
    """A turn of the run `w`."""
    request = pb.AppendTurnRequest(workflow_id="w", role="user", content=content, number=number)
    return await house.results.AppendTurn(request)


async def tool(house: Caller, called: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool call."""
    params = {"name": called, "arguments": arguments}
    response = await house.http.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream"},
    )
    return response.json()["result"]


async def test_a_worker_needs_only_put(house: Caller) -> None:
    """A first put begins the run; every field comes back, with digest, attempt and expiry."""
    step = await put(house, content="ä", content_type="text/markdown")
    result = await got(house, "web")

    assert (result.workflow_id, result.task_id, result.content, result.encoding) == ("w", "web", "ä", "utf-8")
    assert (result.content_type, result.status, result.attempt) == ("text/markdown", SUCCEEDED, 1)
    assert (result.size_bytes, result.sha256) == (2, sha256("ä".encode()).hexdigest())
    assert (result.position, result.part, result.parts, result.run_id) == (1, 0, 1, step.run_id)
    assert (result.created_at, result.expires_at) == (step.created_at, step.expires_at)
    assert result.expires_at.seconds - result.created_at.seconds == MONTH_SECONDS
    status = await house.runs.GetRunStatus(run.GetRunStatusRequest(run_id=step.run_id))
    assert (status.run.workflow_id, status.run.implicit) == ("w", True)
    assert status.run.state == run_pb2.RUN_STATE_RUNNING


async def test_a_result_is_written_once(house: Caller) -> None:
    """Equal bytes are answered as before, however written; others conflict until the attempt is higher."""
    first = await put(house, content="aGk=", encoding="base64")

    assert await put(house, content="hi") == first
    assert await refused(put(house, content="ho")) == CONFLICT
    assert await refused(put(house, content="hi", content_type="text/html")) == CONFLICT
    assert await refused(put(house, content="hi", status=FAILED)) == CONFLICT
    second = await put(house, content="ho", attempt=3)
    assert (second.attempt, second.position) == (3, 2)
    assert await refused(put(house, content="hi")) == CONFLICT
    assert await refused(put(house, content="hi", attempt=2)) == CONFLICT
    assert (await got(house, "web")).content == "ho"


async def test_one_of_many_conflicting_puts_wins(house: Caller) -> None:
    """Thirty-two at once with two contents: those of one are answered, those of the other conflict."""
    puts = [put(house, content="ab"[number % 2]) for number in range(32)]
    answers = await asyncio.gather(*puts, return_exceptions=True)
    winner = (await got(house, "web")).content

    kept = [answer for answer in answers if not isinstance(answer, BaseException)]
    assert len(kept) == 16
    assert all(step == kept[0] for step in kept)
    assert all(
        isinstance(answer, BaseException) != ("ab"[number % 2] == winner)
        for number, answer in enumerate(answers)
    )


async def test_a_failed_task_is_a_result(house: Caller) -> None:
    """With its error; an error without a failure is refused."""
    await put(house, content="", status=FAILED, error="Time is up.")

    result = await got(house, "web")
    assert (result.status, result.error, result.content) == (FAILED, "Time is up.", "")
    assert await refused(put(house, "other", error="Why?")) == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
        ["error"],
    )


async def test_what_is_not_there_has_three_reasons(house: Caller, neighbor: Caller) -> None:
    """Not ready, expired and unknown; to a foreign caller everything is unknown."""
    await put(house)
    await started(house, "short", ttl_seconds=1)
    await put(house, workflow_id="short")

    assert await refused(got(house, "other")) == NOT_READY
    assert await refused(got(house, "web", "nothing")) == UNKNOWN
    assert await refused(got(neighbor, "web")) == UNKNOWN
    assert await refused(waited(neighbor)) == UNKNOWN
    await asyncio.sleep(1.05)
    for call in (got(house, "web", "short"), got(house, "other", "short"), got(house, "", "short")):
        assert await refused(call) == EXPIRED
    steps = house.results.ListSteps(pb.ListStepsRequest(workflow_id="short"))
    assert await refused(steps) == EXPIRED
    assert await refused(got(neighbor, "web", "short")) == UNKNOWN
    fresh = await put(house, "late", workflow_id="short")
    listed = await house.results.ListSteps(pb.ListStepsRequest(workflow_id="short"))
    assert list(listed.steps) == [fresh]
    assert await refused(got(house, "web", "short")) == NOT_READY


async def test_the_final_result_of_a_run(house: Caller) -> None:
    """Of an implicit run the last; of a started one none before it is finished; else the outcome."""
    for number in range(3):
        await put(house, f"t{number}", str(number))
    final = await got(house)
    assert (final.task_id, final.content) == ("t2", "2")
    assert [step.task_id for step in final.steps] == ["t0", "t1", "t2"]
    assert not final.steps_next_page_token

    begun = await started(house, "explicit")
    await put(house, "a", workflow_id="explicit")
    assert await refused(got(house, "", "explicit")) == NOT_READY
    assert await refused(finished(house, begun.id, final_task_id="b")) == NOT_READY
    await put(house, "b", "last", workflow_id="explicit")
    await finished(house, begun.id, final_task_id="a")
    assert (await got(house, "", "explicit")).task_id == "a"

    empty = await started(house, "empty")
    await finished(house, empty.id, FAILED, outcome="Nobody came.")
    final = await got(house, "", "empty")
    assert (final.content, final.status, final.task_id) == ("Nobody came.", FAILED, "")


async def test_a_conversation_keeps_its_thread(house: Caller) -> None:
    """In order, idempotent by number; the final result is the whole thread."""
    first = await said(house, "Hi", 1)
    assert await said(house, "Hi", 1) == first
    assert await refused(said(house, "Ho", 1)) == CONFLICT
    assert await refused(said(house, "Later", 3)) == ("FAILED_PRECONDITION", "TURN_OUT_OF_ORDER", [])
    assert (await said(house, "Ho", 2)).turn.number == 2
    assert (await said(house, "Next")).turn.number == 3

    final = await got(house)
    thread = json.loads(final.content)
    assert final.content_type == "application/json"
    assert [(each["number"], each["role"], each["content"]) for each in thread["turns"]] == [
        (1, "user", "Hi"),
        (2, "user", "Ho"),
        (3, "user", "Next"),
    ]
    assert thread["next_page_token"] == ""


async def test_a_long_thread_goes_on(house: Caller) -> None:
    """What has no room in the final result is listed with its token; nothing is missing or twice."""
    for number in range(1, 46):
        await said(house, "x" * 50_000, number)
    thread = json.loads((await got(house)).content)
    numbers = [turn["number"] for turn in thread["turns"]]
    token = thread["next_page_token"]
    assert token
    while token:
        page = await house.results.ListTurns(pb.ListTurnsRequest(workflow_id="w", page_token=token))
        numbers += [turn.number for turn in page.turns]
        token = page.next_page_token

    assert numbers == list(range(1, 46))


async def test_steps_come_in_pages(house: Caller) -> None:
    """In the order of completion; the final result's token goes on where its steps end."""
    for number in range(55):
        await put(house, f"t{number}")
    final = await got(house)
    rest = await house.results.ListSteps(
        pb.ListStepsRequest(workflow_id="w", page_token=final.steps_next_page_token)
    )

    names = [step.task_id for step in (*final.steps, *rest.steps)]
    assert names == [f"t{number}" for number in range(55)]
    assert not rest.next_page_token


async def test_several_at_once(house: Caller) -> None:
    """Those that are there in order, those that are not, those without room; or the last only."""
    big = "x" * (CONTENT_BYTES_MAX - 1)
    for name, content in (("b", "1"), ("a", big), ("c", big), ("d", "4")):
        await put(house, name, content)
    found = await house.results.GetResults(
        pb.GetResultsRequest(workflow_id="w", task_ids=["a", "z", "b", "c"])
    )
    last = await house.results.GetResults(pb.GetResultsRequest(workflow_id="w", last_only=True))

    assert [result.task_id for result in found.results] == ["b", "a"]
    assert (list(found.not_ready), list(found.left_out)) == (["z"], ["c"])
    assert [result.content for result in last.results] == ["4"]
    neither = house.results.GetResults(pb.GetResultsRequest(workflow_id="w"))
    assert await refused(neither) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["task_ids"])


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


async def test_rest_has_its_paths(house: Caller) -> None:
    """Results are flat there, by either path; not ready says when to ask again."""
    body = {"content": "# Hi", "content_type": "text/markdown"}
    made = (await house.http.put(f"{PATH}/exec-1/web", json=body)).json()
    result = (await house.http.get(f"{PATH}/exec-1/web")).json()

    assert (made["task_id"], made["attempt"]) == ("web", 1)
    assert {
        "content": "# Hi",
        "content_type": "text/markdown",
        "status": "succeeded",
    }.items() <= result.items()
    assert (result["workflow_id"], result["task_id"]) == ("exec-1", "web")
    assert (await house.http.get("/v1/agents/results/exec-1/web")).json() == result
    assert (await house.http.get(f"{PATH}/exec-1/web:wait?timeout=5")).json() == result
    assert (await house.http.get(f"{PATH}/exec-1")).json()["steps"][0]["task_id"] == "web"
    late = await house.http.get(f"{PATH}/exec-1/other")
    problem(late, 404, "RESULT_NOT_READY", "not_ready")
    assert late.headers["retry-after"] == "1"
    problem(await house.http.get(f"{PATH}/exec-1/other:wait?timeout=0"), 404, "RESULT_NOT_READY", "not_ready")
    problem(await house.http.get(f"{PATH}/nothing/web"), 404, "RESULT_UNKNOWN")
    problem(await house.http.put(f"{PATH}/exec-1/web", json={"content": "other"}), 409, "RESULT_CONFLICT")
    begun = (await house.http.post("/v1/runs", json={"kind": "mission", "goal": "g"})).json()["run"]
    end = {"status": "succeeded", "outcome": "o"}
    done = await house.http.post(f"/v1/runs/{begun['id']}:finish", json=end)
    assert done.json()["run"]["state"] == "succeeded"
    assert (await house.http.get(f"/v1/runs/{begun['id']}")).json()["run"]["outcome"] == "o"
    events = await house.http.get(f"{PATH}/exec-1:watch?timeout=0", headers={"accept": "text/event-stream"})
    assert "# Hi" in events.text


async def test_agents_have_tools(house: Caller) -> None:
    """The seeds' story: fan out, wait, read one branch."""
    begun = (await tool(house, "run_start", workflow_id="w", goal="g"))["structuredContent"]["run"]
    waiting = asyncio.create_task(tool(house, "result_wait", workflow_id="w", task_id="web"))
    await tool(house, "result_put", workflow_id="w", task_id="web", content="found")

    assert (await waiting)["structuredContent"]["result"]["content"] == "found"
    steps = await tool(house, "result_list_steps", workflow_id="w")
    assert [step["task_id"] for step in steps["structuredContent"]["steps"]] == ["web"]
    pending = await tool(house, "result_get", workflow_id="w")
    assert (pending["isError"], pending["structuredContent"]["code"]) == (True, "not_ready")
    await tool(house, "run_finish", run_id=begun["id"], status="succeeded", outcome="o")
    status = await tool(house, "run_status", run_id=begun["id"])
    assert status["structuredContent"]["run"]["state"] == "succeeded"
    assert (await tool(house, "result_get", workflow_id="w"))["structuredContent"]["result"][
        "content"
    ] == "found"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("x" * CONTENT_BYTES_MAX, "utf-8"),
        ("🌲" * (CONTENT_BYTES_MAX // 4), "utf-8"),
        (base64.b64encode(bytes(range(256)) * 6144).decode(), "base64"),
        ("", "utf-8"),
        ("  \r\n\t\u00a0e\u0308\u202e\ufeff ", "utf-8"),
    ],
    ids=["ascii", "emojis", "base64", "empty", "odd"],
)
async def test_content_is_kept_byte_for_byte(house: Caller, content: str, encoding: str) -> None:
    """Up to 2 MiB, put over one door and read over the other; a byte more is refused."""
    body = {"content": content, "encoding": encoding}
    await house.http.put(f"{PATH}/w/rest", json=body)
    await put(house, "grpc", content, encoding=encoding)

    assert (await got(house, "rest")).content == content
    assert (await house.http.get(f"{PATH}/w/grpc")).json()["content"] == content
    too_much = put(house, "big", "x" * (CONTENT_BYTES_MAX + 1))
    assert await refused(too_much) == ("INVALID_ARGUMENT", "VALUE_TOO_LARGE", ["content"])


async def streamed(
    house: Caller, content: bytes, digest: str = "", chunk: int = 700_001, **fields: Any
) -> result_pb2.Step:
    """What is kept of a stream into the run `w`."""
    known = digest or sha256(content).hexdigest()
    header = pb.PutResultStreamHeader(workflow_id="w", task_id="big", sha256=known, **fields)

    async def requests() -> AsyncIterator[pb.PutResultStreamRequest]:
        yield pb.PutResultStreamRequest(header=header)
        for at in range(0, len(content), chunk):
            yield pb.PutResultStreamRequest(chunk=content[at : at + chunk])

    metadata = (("authorization", f"Bearer {house.secret}"),)
    return (await house.results.PutResultStream(requests(), metadata=metadata)).step


@pytest.mark.parametrize("size", [0, 1, 1_048_576, 1_048_577, 5_000_000])
async def test_a_stream_is_read_back_in_parts(house: Caller, size: int) -> None:
    """Byte for byte, with digest and size; the same again is the same; another conflicts."""
    content = (bytes(range(251)) * (size // 251 + 1))[:size]
    step = await streamed(house, content, content_type="application/pdf", size_bytes=size)
    parts = [await got(house, "big", part=part) for part in range(step.parts)]

    assert b"".join(base64.b64decode(part.content) for part in parts) == content
    assert {part.sha256 for part in parts} == {sha256(content).hexdigest()}
    assert (step.size_bytes, step.content_type) == (size, "application/pdf")
    assert await streamed(house, content, content_type="application/pdf") == step
    assert await refused(streamed(house, content + b"!", content_type="application/pdf")) == CONFLICT
    assert await refused(got(house, "big", part=step.parts)) == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
        ["part"],
    )


async def test_a_wrong_stream_leaves_nothing(house: Caller) -> None:
    """Wrong digest, wrong size, no header, more than 64 MiB: refused, and nobody sees any of it."""
    mismatch = ("INVALID_ARGUMENT", "DIGEST_MISMATCH", [])
    content = b"x" * 3_000_000
    await put(house)

    assert await refused(streamed(house, content, "0" * 64)) == mismatch
    assert await refused(streamed(house, content, size_bytes=2_999_999)) == mismatch
    assert await refused(streamed(house, content, size_bytes=3_000_001)) == mismatch
    assert (await refused(streamed(house, content, chunk=1_048_577)))[:2] == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
    )
    assert await refused(got(house, "big")) == NOT_READY


async def test_a_stream_has_at_most_so_many_bytes(house: Caller) -> None:
    """64 MiB are kept and read in parts; a byte more is refused, and what was there stays."""
    content = bytes(STREAM_BYTES_MAX)
    large = await streamed(house, content, chunk=1_048_576)

    assert (large.size_bytes, large.parts) == (STREAM_BYTES_MAX, 64)
    assert len(base64.b64decode((await got(house, "big", part=63)).content)) == 1_048_576
    one_more = streamed(house, content + b"x", chunk=1_048_576, attempt=2)
    assert await refused(one_more) == ("INVALID_ARGUMENT", "VALUE_TOO_LARGE", ["chunk"])
    assert (await got(house, "big")).attempt == 1


async def test_a_stream_has_at_most_so_many_chunks(house: Caller) -> None:
    """However small they are: 65,536, and not one more."""
    too_many = streamed(house, bytes(CHUNKS_MAX + 1), chunk=1)

    assert await refused(too_many) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["chunk"])


async def test_a_replaced_result_counts_once(house: Caller) -> None:
    """In what is told of its run."""
    step = await put(house, content="x" * 100)
    await put(house, content="y" * 10, attempt=2)
    status = await house.runs.GetRunStatus(run.GetRunStatusRequest(run_id=step.run_id))

    assert (status.succeeded_count, status.failed_count) == (1, 0)

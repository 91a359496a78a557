"""ResultsService through the front door."""

from __future__ import annotations

import asyncio
import base64
import json
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as run

from libs.data import migrations
from services.results.results.values import CONTENT_BYTES_MAX
from tests.rig.answers import problem
from tests.rig.house import Caller, House
from tests.rig.refusals import refused
from tests.rig.results import (
    CONFLICT,
    EXPIRED,
    FAILED,
    NOT_READY,
    PATH,
    SUCCEEDED,
    UNKNOWN,
    finished,
    got,
    put,
    said,
    started,
    waited,
)

MONTH_SECONDS = 2_592_000


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


async def test_what_never_came_is_unknown_a_minute_after_its_run(house: Caller, house_site: House) -> None:
    """On both doors: whoever polls comes to an end, and does not before workers had their minute."""
    begun = await started(house, "ends")
    await finished(house, begun.id)
    assert await refused(got(house, "late", "ends")) == NOT_READY

    async with migrations.owner(house_site.dsn) as connection:
        await connection.execute(
            "UPDATE results.run SET ended_at = ended_at - interval '1 minute' WHERE id = $1", UUID(begun.id)
        )
    assert await refused(got(house, "late", "ends")) == UNKNOWN
    problem(await house.http.get(f"{PATH}/ends/late"), 404, "RESULT_UNKNOWN")
    await put(house, "late", workflow_id="ends")
    assert (await got(house, "late", "ends")).content == "c"


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


async def test_a_replaced_result_counts_once(house: Caller) -> None:
    """In what is told of its run."""
    step = await put(house, content="x" * 100)
    await put(house, content="y" * 10, attempt=2)
    status = await house.runs.GetRunStatus(run.GetRunStatusRequest(run_id=step.run_id))

    assert (status.succeeded_count, status.failed_count) == (1, 0)

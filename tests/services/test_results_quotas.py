"""How much of runs and results a profile may keep, through every door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import grpc
import pytest
from treering.results.v1 import result_pb2, run_pb2
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as run

from tests.rig.answers import problem
from tests.rig.house import Caller
from tests.rig.quotas import allow, another_key, outcomes, refused_with
from tests.rig.refusals import refused

FULL = ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", [])
PART_BYTES = 1_048_576


async def put(
    house: Caller, task: str, content: str = "c", workflow_id: str = "w", attempt: int = 1
) -> pb.PutResultResponse:
    """What a task came to."""
    return await house.results.PutResult(
        pb.PutResultRequest(workflow_id=workflow_id, task_id=task, content=content, attempt=attempt)
    )


async def say(house: Caller, content: str, workflow_id: str = "w") -> pb.AppendTurnResponse:
    """A turn."""
    request = pb.AppendTurnRequest(workflow_id=workflow_id, role="user", content=content)
    return await house.results.AppendTurn(request)


async def start(house: Caller, workflow_id: str = "", **fields: Any) -> run_pb2.Run:
    """A run."""
    return (await house.runs.StartRun(run.StartRunRequest(workflow_id=workflow_id, **fields))).run


async def stream(house: Caller, size: int, digest: str = "") -> result_pb2.Step:
    """A result of so many bytes that comes as a stream."""
    content = b"x" * size
    header = pb.PutResultStreamHeader(
        workflow_id="w", task_id="big", sha256=digest or sha256(content).hexdigest()
    )

    async def requests() -> AsyncIterator[pb.PutResultStreamRequest]:
        yield pb.PutResultStreamRequest(header=header)
        for at in range(0, size, PART_BYTES):
            yield pb.PutResultStreamRequest(chunk=content[at : at + PART_BYTES])

    metadata = (("authorization", f"Bearer {house.secret}"),)
    return (await house.results.PutResultStream(requests(), metadata=metadata)).step


async def tasks(house: Caller, workflow_id: str = "w") -> set[str]:
    """The tasks that have a result."""
    steps = await house.results.ListSteps(pb.ListStepsRequest(workflow_id=workflow_id))
    return {step.task_id for step in steps.steps}


async def test_a_refusal_says_which_limit_and_never_to_wait(house: Caller) -> None:
    """Over gRPC and REST, for each of the three, by the name that whoever sets it knows."""
    await put(house, "a")
    await allow(house, runs_max=1, results_max=2, results_bytes_max=3)

    infos = [
        await refused_with(call)
        for call in (start(house, "other"), say(house, "xx", "other"), put(house, "b", "xxx"))
    ]
    await put(house, "b")
    infos += [await refused_with(call) for call in (put(house, "c", ""), say(house, "x"))]
    response = await house.http.put("/v1/workflows/results/w/c", json={"content": ""})
    started = await house.http.post("/v1/runs", json={})

    assert infos == [
        {"quota": "runs", "limit": "1"},
        {"quota": "runs", "limit": "1"},
        {"quota": "results_bytes", "limit": "3"},
        {"quota": "results", "limit": "2"},
        {"quota": "results", "limit": "2"},
    ]
    for answer, info in ((response, infos[3]), (started, infos[0])):
        body = problem(answer, 429, "QUOTA_EXCEEDED")
        assert body["metadata"] == info
        assert "retry_after" not in body
        assert "retry-after" not in answer.headers
    assert await tasks(house) == {"a", "b"}


async def test_a_quota_below_what_is_kept_takes_nothing_away(house: Caller) -> None:
    """What is there is read, repeated, replaced by no more, and finished; each limit refuses its own only."""
    begun = await start(house, "w")
    await put(house, "a", "12345")
    await put(house, "a", "1", "other")
    await allow(house, runs_max=1, results_max=0, results_bytes_max=0)

    assert await refused(put(house, "b", "")) == FULL
    assert await refused(say(house, "x")) == FULL
    assert await refused(put(house, "a", "123456", attempt=2)) == FULL
    assert (await put(house, "a", "12345")).step.attempt == 1
    assert (await put(house, "a", "1234", attempt=2)).step.size_bytes == 4
    assert (await start(house, "w")).id == begun.id
    await allow(house, runs_max=1)
    await put(house, "b")
    assert await refused(start(house, "third")) == FULL
    finish = run.FinishRunRequest(run_id=begun.id, status=run_pb2.STATUS_SUCCEEDED, outcome="done")
    assert (await house.runs.FinishRun(finish)).run.outcome == "done"
    assert await tasks(house) == {"a", "b"}


async def test_as_many_as_may_are_kept_whoever_comes_at_once(house: Caller, neighbor: Caller) -> None:
    """Ten results and turns in three runs, by two keys; a neighbour has limits of its own."""
    await allow(house, runs_max=3, results_max=10)
    both = (house, await another_key(house))

    calls: list[Any] = [put(both[n % 2], f"t{n}", workflow_id=f"w{n % 3}") for n in range(12)]
    calls += [say(both[n % 2], f"turn {n}", f"w{n % 3}") for n in range(12)]
    others = [put(neighbor, f"t{n}") for n in range(12)]
    mine, theirs = await asyncio.gather(outcomes(calls), outcomes(others))

    assert mine["QUOTA_EXCEEDED"] == 14
    assert mine["PutResultResponse"] + mine["AppendTurnResponse"] == 10
    assert theirs == {"PutResultResponse": 12}
    runs = await outcomes([start(both[n % 2], f"other {n}") for n in range(4)])
    assert runs == {"QUOTA_EXCEEDED": 4}


async def test_what_is_uploaded_counts(house: Caller) -> None:
    """Part by part: a stream is stopped where there is no room, and what came of it is not seen."""
    await allow(house, results_bytes_max=3 * PART_BYTES)

    assert await refused(stream(house, 4 * PART_BYTES)) == FULL
    # What came of it is there until it is swept; a smaller one still finds room only for itself.
    assert await refused(stream(house, PART_BYTES + 1)) == FULL
    with pytest.raises(grpc.aio.AioRpcError):
        await tasks(house)
    await allow(house, results_bytes_max=6 * PART_BYTES)
    assert (await stream(house, 3 * PART_BYTES)).parts == 3
    assert await refused(put(house, "a", "x")) == FULL


async def test_a_run_that_expires_gives_its_room_back(house: Caller) -> None:
    """Of all three limits, at the moment when it expires."""
    await allow(house, runs_max=1, results_max=1, results_bytes_max=5)
    await start(house, "short", ttl_seconds=2)
    await put(house, "a", "12345", "short")
    assert await refused(put(house, "a", "", "w")) == FULL
    await asyncio.sleep(2)
    await put(house, "a", "12345", "w")

    assert await refused(start(house, "short")) == FULL
    assert await tasks(house) == {"a"}

"""Results and runs, as a caller puts and reads them."""

from __future__ import annotations

from typing import Any

from treering.results.v1 import result_pb2, run_pb2
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as run

from tests.rig.house import Caller

NOT_READY = ("NOT_FOUND", "RESULT_NOT_READY", [])
UNKNOWN = ("NOT_FOUND", "RESULT_UNKNOWN", [])
EXPIRED = ("NOT_FOUND", "RESULT_EXPIRED", [])
CONFLICT = ("ALREADY_EXISTS", "RESULT_CONFLICT", [])
CANCELLED = ("FAILED_PRECONDITION", "RUN_CANCELLED", [])
CLOSED = ("FAILED_PRECONDITION", "RUN_CLOSED", [])
NO_RUN = ("NOT_FOUND", "RUN_NOT_FOUND", [])
SUCCEEDED, FAILED = run_pb2.STATUS_SUCCEEDED, run_pb2.STATUS_FAILED
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

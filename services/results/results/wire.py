"""Messages of results and turns in ``treering.results.v1``, and what they mean here."""

from __future__ import annotations

from typing import cast

from treering.results.v1 import result_pb2, run_pb2
from treering.results.v1 import results_service_pb2 as pb

from libs.messages import of_time
from services.results.results.drafts import Said
from services.results.results.result import Arrival, Key, Result, Step
from services.results.results.turns import Turn
from services.results.results.values import CONTENT_TYPE, Encoding, written
from services.results.runs.ids import clean_id, optional_id
from services.results.runs.run import State, Status

WAIT_SECONDS = 30
"""How long to wait where nothing is said."""


def to_said(said: pb.PutResultRequest | pb.PutResultStreamHeader) -> Said:
    """What is said about a result, with the defaults of what was not given."""
    return Said(
        workflow_id=said.workflow_id,
        task_id=said.task_id,
        content_type=said.content_type if said.HasField("content_type") else CONTENT_TYPE,
        status=Status(said.status) if said.status else Status.SUCCEEDED,
        error=said.error,
        attempt=said.attempt if said.HasField("attempt") else 1,
    )


def to_encoding(request: pb.PutResultRequest) -> Encoding:
    """How a content is written."""
    return Encoding(request.encoding) if request.HasField("encoding") else Encoding.UTF_8


def to_key(request: pb.GetResultRequest | pb.WaitResultRequest) -> Key:
    """Which result is meant. Raises ``Invalid``."""
    return Key(clean_id("workflow_id", request.workflow_id), optional_id("task_id", request.task_id))


def to_seconds(request: pb.WaitResultRequest | pb.WatchResultsRequest) -> int:
    """How long to wait."""
    return request.timeout if request.HasField("timeout") else WAIT_SECONDS


def of_step(step: Step) -> result_pb2.Step:
    """A result without its content."""
    return result_pb2.Step(
        workflow_id=step.workflow_id,
        task_id=step.labels.task_id,
        status=cast(run_pb2.Status, step.status),
        attempt=step.attempt,
        position=step.position,
        content_type=step.labels.content_type,
        size_bytes=step.size_bytes,
        sha256=step.labels.sha256,
        parts=step.parts,
        run_id=str(step.run_id),
        created_at=of_time(step.created_at),
        expires_at=of_time(step.expires_at),
    )


def of_result(result: Result) -> result_pb2.Result:
    """A result with its content."""
    step = result.step
    return result_pb2.Result(
        workflow_id=step.workflow_id,
        task_id=step.labels.task_id,
        content=written(result.content, result.encoding),
        content_type=step.labels.content_type,
        encoding=result.encoding,
        status=cast(run_pb2.Status, step.status),
        error=step.labels.error,
        attempt=step.attempt,
        position=step.position,
        size_bytes=step.size_bytes,
        sha256=step.labels.sha256,
        part=result.part,
        parts=step.parts,
        run_id=str(step.run_id),
        created_at=of_time(step.created_at),
        expires_at=of_time(step.expires_at),
    )


def of_arrival(arrival: Arrival, after: int) -> pb.WatchResultsResponse:
    """The next message of a stream of results, after those up to a position."""
    result = arrival.result
    return pb.WatchResultsResponse(
        result=of_result(result) if result else None,
        state=cast(run_pb2.RunState, State.RUNNING if result else arrival.state),
        cursor=result.step.position if result else after,
    )


def of_turn(turn: Turn) -> result_pb2.Turn:
    """A turn."""
    return result_pb2.Turn(
        number=turn.number, role=turn.role, content=turn.content, created_at=of_time(turn.created_at)
    )

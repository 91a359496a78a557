"""Messages of runs in ``treering.results.v1``, and what they mean here."""

from __future__ import annotations

from datetime import timedelta
from typing import cast
from uuid import UUID

from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as pb

from libs.messages import of_time, to_id
from services.results.runs.drafts import Draft, started
from services.results.runs.run import Kind, Run, Standing, State


def to_draft(request: pb.StartRunRequest, run_id: UUID, ttl: timedelta) -> Draft:
    """A run to start, with the defaults of what was not given. Raises ``Invalid``."""
    return started(
        run_id,
        request.workflow_id,
        to_kind(request.kind) or Kind.MISSION,
        request.goal,
        to_id("parent_run_id", request.parent_run_id) if request.parent_run_id else None,
        timedelta(seconds=request.ttl_seconds) if request.HasField("ttl_seconds") else ttl,
    )


def to_kind(kind: run_pb2.RunKind) -> Kind | None:
    """A kind, if one is given."""
    return Kind(kind) if kind else None


def to_state(state: run_pb2.RunState) -> State | None:
    """A state, if one is given."""
    return State(state) if state else None


def of_run(run: Run) -> run_pb2.Run:
    """A run."""
    return run_pb2.Run(
        id=str(run.id),
        workflow_id=run.workflow_id,
        kind=cast(run_pb2.RunKind, run.kind),
        state=cast(run_pb2.RunState, run.state),
        goal=run.goal,
        outcome=run.outcome,
        parent_run_id=str(run.parent) if run.parent else "",
        implicit=run.implicit,
        created_at=of_time(run.created_at),
        ended_at=of_time(run.ended_at) if run.ended_at else None,
        expires_at=of_time(run.expires_at),
    )


def of_standing(standing: Standing) -> pb.GetRunStatusResponse:
    """Where a run stands."""
    return pb.GetRunStatusResponse(
        run=of_run(standing.run),
        succeeded_count=standing.succeeded,
        failed_count=standing.failed,
        turn_count=standing.turns,
    )

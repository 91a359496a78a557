"""Lifecycle messages to nouns and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from google.protobuf.duration_pb2 import Duration
from treering.memory.v1 import lifecycle_service_pb2 as pb
from treering.memory.v1 import memory_pb2

from libs.messages import of_time, to_id
from services.memory.lifecycle.ages import Age, Due, Restaged, Step, Taken, Wait
from services.memory.memories.rings import Stage


def to_waits(rules: Sequence[pb.Waits]) -> list[Wait]:
    """How long memories wait, of all workspaces that are asked about."""
    return [wait for rule in rules for wait in _waits(rule)]


def _waits(rule: pb.Waits) -> Iterator[Wait]:
    workspace = UUID(rule.workspace_id)
    yield Wait(workspace, None, 0, _span(rule.fresh))
    for each in rule.waits:
        yield Wait(workspace, Stage(each.stage), each.pace, _span(each.wait))


def _span(duration: Duration) -> timedelta:
    return timedelta(seconds=duration.seconds, microseconds=duration.nanos // 1000)


def to_step(step: pb.Step) -> Step:
    """What is to become of one memory."""
    return Step(
        to_id("steps.profile_id", step.profile_id),
        to_id("steps.memory_id", step.memory_id),
        Stage(step.stage),
        step.tokens,
        step.keep_original,
    )


def of_taken(taken: Taken) -> pb.ListDueResponse:
    """What was leased."""
    return pb.ListDueResponse(
        due=[_due(each) for each in taken.due], token=taken.token, as_of=of_time(taken.as_of)
    )


def _due(due: Due) -> pb.Due:
    return pb.Due(
        profile_id=str(due.profile),
        memory_id=str(due.memory_id),
        workspace_id=str(due.workspace),
        stage=cast(memory_pb2.Stage, due.stage),
        fresh=due.fresh,
    )


def of_restaged(restaged: Restaged) -> pb.Restaged:
    """What came of a step."""
    return pb.Restaged(
        result=cast(pb.StepResult, restaged.result), tokens_freed=max(0, restaged.tokens_freed)
    )


def of_ages(ages: Sequence[Age], now: datetime) -> pb.ListAgesResponse:
    """How old memories are."""
    return pb.ListAgesResponse(ages=[_age(each) for each in ages], now=of_time(now))


def _age(age: Age) -> pb.Age:
    return pb.Age(
        memory_id=str(age.memory_id),
        ring=cast(memory_pb2.Ring, age.ring),
        stage=cast(memory_pb2.Stage, age.stage),
        pace=age.pace,
        aged_from=of_time(age.aged_from),
        used_at=of_time(age.used_at),
        content_tokens=age.content_tokens,
        summary_tokens=age.summary_tokens,
        essence_tokens=age.essence_tokens,
    )

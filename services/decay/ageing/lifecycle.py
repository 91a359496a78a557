"""The way to memory, which owns the rows: LifecycleService, called for ourselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar, cast
from uuid import UUID, uuid4

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import lifecycle_service_pb2 as pb
from treering.memory.v1 import memory_pb2

from libs.errors import Unavailable
from libs.messages import to_time
from libs.rpc.caller import service_caller
from libs.rpc.channels import Remote
from services.decay.ageing.forecast import Age
from services.decay.ageing.policy import Policy, Stage
from services.decay.ageing.sweep import Result

SERVICE = "/treering.memory.v1.LifecycleService"
CALLER = service_caller("decay")
CALL_SECONDS = 30.0
AGES_PAGE = 10_000
AGES_PAGES_MAX = 100
"""A million memories of one profile."""
AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)

Answer = TypeVar("Answer", bound=Message)


class MemoryAway(Unavailable):
    """Memory does not answer at the moment. Please try again."""


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is due."""

    profile_id: str
    memory_id: str
    workspace: UUID
    stage: Stage
    fresh: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """What nobody else is given for a while."""

    token: int
    as_of: Timestamp
    due: Sequence[Due]


@dataclass(frozen=True, slots=True)
class Step:
    """What is to become of a memory."""

    due: Due
    stage: Stage
    tokens: int
    keep_original: bool


class Lifecycle:
    """Which memories are due, and their next stages."""

    def __init__(self, memory: Remote) -> None:
        self._memory = memory

    async def workspaces(self, after: UUID, limit: int) -> list[UUID]:
        """Workspaces with memories that can age, in the order of their ids."""
        request = pb.ListWorkspacesRequest(after=str(after), limit=limit)
        answer = await self._call("ListWorkspaces", request, pb.ListWorkspacesResponse)
        return [UUID(each) for each in answer.workspace_ids]

    async def take_due(
        self, policies: Mapping[UUID, Policy], profile: UUID | None, limit: int, as_of: Timestamp | None
    ) -> Lease:
        """Lease memories of these workspaces that are due under their policies, as of a moment or now."""
        request = pb.ListDueRequest(
            rules=[_rule(workspace, policy) for workspace, policy in policies.items()],
            profile_id=str(profile) if profile else "",
            limit=limit,
            as_of=as_of,
        )
        answer = await self._call("ListDue", request, pb.ListDueResponse)
        return Lease(answer.token, answer.as_of, [_due(each) for each in answer.due])

    async def restage(self, token: int, steps: Sequence[Step]) -> list[tuple[Result, int]]:
        """Move leased memories. What came of each, and the tokens that it lost."""
        request = pb.RestageRequest(token=token, steps=[_step(each) for each in steps])
        answer = await self._call("Restage", request, pb.RestageResponse)
        return [(Result(each.result), each.tokens_freed) for each in answer.restaged]

    async def ages(
        self, profile: UUID, memory_id: UUID | None = None
    ) -> AsyncIterator[tuple[list[Age], datetime]]:
        """How old the memories of a profile are, in pages; and the present by memory's clock."""
        after = ""
        for _ in range(AGES_PAGES_MAX):
            request = pb.ListAgesRequest(
                profile_id=str(profile),
                memory_id=str(memory_id) if memory_id else "",
                after=after,
                limit=AGES_PAGE,
            )
            answer = await self._call("ListAges", request, pb.ListAgesResponse)
            yield [_age(each) for each in answer.ages], to_time("now", answer.now)
            if len(answer.ages) < AGES_PAGE:
                return
            after = answer.ages[-1].memory_id

    async def _call(self, method: str, request: Message, response: type[Answer]) -> Answer:
        try:
            answer = await self._memory.call(
                f"{SERVICE}/{method}",
                request,
                response.FromString,
                caller=CALLER,
                request_id=uuid4().hex,
                timeout=CALL_SECONDS,
            )
        except grpc.aio.AioRpcError as error:
            if error.code() in AWAY:
                raise MemoryAway from None
            raise
        return cast(Answer, answer)


def _rule(workspace: UUID, policy: Policy) -> pb.Waits:
    return pb.Waits(
        workspace_id=str(workspace),
        waits=[
            pb.Wait(stage=cast(memory_pb2.Stage, stage), pace=pace, wait=_duration(wait))
            for stage, pace, wait in policy.waits()
        ],
        fresh=_duration(policy.fresh),
    )


def _duration(span: timedelta) -> Duration:
    return Duration(seconds=span.days * 86_400 + span.seconds, nanos=span.microseconds * 1000)


def _due(due: pb.Due) -> Due:
    return Due(due.profile_id, due.memory_id, UUID(due.workspace_id), Stage(due.stage), due.fresh)


def _step(step: Step) -> pb.Step:
    return pb.Step(
        profile_id=step.due.profile_id,
        memory_id=step.due.memory_id,
        stage=cast(memory_pb2.Stage, step.stage),
        tokens=step.tokens,
        keep_original=step.keep_original,
    )


def _age(age: pb.Age) -> Age:
    return Age(
        stage=Stage(age.stage),
        pace=age.pace,
        fresh=age.ring == memory_pb2.RING_FRESH,
        shock=age.ring == memory_pb2.RING_SHOCK,
        aged_from=to_time("aged_from", age.aged_from),
        used_at=to_time("used_at", age.used_at),
        content_tokens=age.content_tokens,
        summary_tokens=age.summary_tokens,
        essence_tokens=age.essence_tokens,
    )

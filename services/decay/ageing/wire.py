"""Messages to policies, and policies, forecasts and sweeps to messages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import cast

from google.protobuf.duration_pb2 import Duration
from treering.decay.v1 import decay_pb2 as pb
from treering.memory.v1 import memory_pb2

from libs.messages import of_time, to_time
from services.decay.ageing.forecast import Outlook, Passage
from services.decay.ageing.policy import DEFAULT, Factors, Policy, Stage, StagePolicy
from services.decay.ageing.sweep import Sweep

TOKENS_MAX = 2**32 - 1
"""What an answer can tell; more is told as this."""


def to_policy(message: pb.Policy) -> Policy:
    """A policy. What is absent is the default."""
    return Policy(
        full=_to_stage(message.full, DEFAULT.full),
        compressed=_to_stage(message.compressed, DEFAULT.compressed),
        summary=_to_stage(message.summary, DEFAULT.summary),
        essence=_to_stage(message.essence, DEFAULT.essence),
        fresh=_to_span(message.fresh_duration) if message.HasField("fresh_duration") else DEFAULT.fresh,
        factors=_to_factors(message.factors),
        keep_originals=message.keep_originals,
    )


def _to_stage(message: pb.StagePolicy, default: StagePolicy) -> StagePolicy:
    return StagePolicy(
        message.tokens if message.HasField("tokens") else default.tokens,
        _to_span(message.duration) if message.HasField("duration") else default.duration,
    )


def _to_factors(message: pb.Factors) -> Factors:
    default = DEFAULT.factors
    return Factors(
        message.accessed if message.HasField("accessed") else default.accessed,
        message.reinforced if message.HasField("reinforced") else default.reinforced,
        message.failing if message.HasField("failing") else default.failing,
    )


def _to_span(duration: Duration) -> timedelta:
    return timedelta(seconds=duration.seconds, microseconds=duration.nanos // 1000)


def of_policy(policy: Policy) -> pb.Policy:
    """A policy, with every field."""
    factors = policy.factors
    return pb.Policy(
        full=_of_stage(policy.full),
        compressed=_of_stage(policy.compressed),
        summary=_of_stage(policy.summary),
        essence=_of_stage(policy.essence),
        fresh_duration=_of_span(policy.fresh),
        factors=pb.Factors(accessed=factors.accessed, reinforced=factors.reinforced, failing=factors.failing),
        keep_originals=policy.keep_originals,
        updated_at=of_time(policy.updated_at) if policy.updated_at else None,
    )


def _of_stage(stage: StagePolicy) -> pb.StagePolicy:
    return pb.StagePolicy(tokens=stage.tokens, duration=_of_span(stage.duration))


def _of_span(span: timedelta) -> Duration:
    return Duration(seconds=span.days * 86_400 + span.seconds, nanos=span.microseconds * 1000)


def of_outlook(outlook: Outlook) -> pb.Outlook:
    """What there will be on a date."""
    stages = [
        pb.StageOutlook(
            stage=cast(memory_pb2.Stage, stage),
            memories=outlook.memories[stage],
            tokens=min(outlook.tokens[stage], TOKENS_MAX),
        )
        for stage in Stage
    ]
    return pb.Outlook(at=of_time(outlook.at), stages=stages)


def to_outlook(message: pb.Outlook) -> Outlook:
    """What there will be on a date, as it was told."""
    return Outlook(
        to_time("at", message.at),
        {Stage(each.stage): each.memories for each in message.stages},
        {Stage(each.stage): each.tokens for each in message.stages},
    )


def of_passages(passages: Iterable[Passage]) -> list[pb.Passage]:
    """The steps of a memory."""
    return [
        pb.Passage(stage=cast(memory_pb2.Stage, passage.stage), at=of_time(passage.at))
        for passage in passages
    ]


def of_sweep(sweep: Sweep) -> pb.Sweep:
    """What a sweep did."""
    tally = sweep.tally
    return pb.Sweep(
        id=str(sweep.id),
        trigger=cast(pb.Trigger, sweep.trigger),
        started_at=of_time(sweep.started_at),
        ended_at=of_time(sweep.ended_at),
        compressed_count=tally.entered[Stage.COMPRESSED],
        summary_count=tally.entered[Stage.SUMMARY],
        essence_count=tally.entered[Stage.ESSENCE],
        forgotten_count=tally.entered[Stage.FORGOTTEN],
        failed_count=tally.failed,
        set_aside_count=tally.set_aside,
        tokens_freed=tally.tokens_freed,
        complete=sweep.complete,
    )

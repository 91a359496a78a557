"""Policies: how long a memory stays at each stage, and how many tokens it has there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, IntFlag
from itertools import pairwise

from libs import errors


class Stage(IntEnum):
    """How much of a text is kept. The numbers are those of the contract."""

    FULL = 1
    COMPRESSED = 2
    SUMMARY = 3
    ESSENCE = 4
    FORGOTTEN = 5


STAGES = (Stage.FULL, Stage.COMPRESSED, Stage.SUMMARY, Stage.ESSENCE)
"""Those at which there is something to wait for."""


class Pace(IntFlag):
    """What makes a memory age slower or faster; memory says which of them hold."""

    READ_OFTEN = 1
    OBSERVED_OFTEN = 2
    FAILING = 4


PACES = range(8)
"""Every combination of them."""


@dataclass(frozen=True, slots=True)
class StagePolicy:
    """What holds at one stage."""

    tokens: int
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Factors:
    """By how much the time at a stage is multiplied."""

    accessed: float = 3.0
    reinforced: float = 2.0
    failing: float = 0.5

    def of(self, pace: int) -> float:
        """Those that apply, multiplied with one another."""
        factor = self.accessed if pace & Pace.READ_OFTEN else 1.0
        factor *= self.reinforced if pace & Pace.OBSERVED_OFTEN else 1.0
        return factor * self.failing if pace & Pace.FAILING else factor


@dataclass(frozen=True, slots=True)
class Policy:
    """How the memories of a workspace age. The defaults are the seed's table."""

    full: StagePolicy = StagePolicy(500, timedelta(days=7))
    compressed: StagePolicy = StagePolicy(250, timedelta(days=30))
    summary: StagePolicy = StagePolicy(150, timedelta(days=90))
    essence: StagePolicy = StagePolicy(50, timedelta(days=365))
    fresh: timedelta = timedelta(days=7)
    """How long a memory may stay in ring FRESH untouched."""
    factors: Factors = Factors()
    keep_originals: bool = False
    updated_at: datetime | None = None
    """``None``: it is the default."""

    def at(self, stage: Stage) -> StagePolicy:
        """What holds at a stage."""
        return (self.full, self.compressed, self.summary, self.essence)[stage - 1]

    def tokens(self, stage: Stage) -> int:
        """How many tokens a text has at a stage at most."""
        return 0 if stage is Stage.FORGOTTEN else self.at(stage).tokens

    def wait(self, stage: Stage, pace: int) -> timedelta:
        """How long a memory of this pace stays at a stage."""
        return self.at(stage).duration * self.factors.of(pace)

    def waits(self) -> Iterator[tuple[Stage, int, timedelta]]:
        """Every stage and pace, and how long memories wait there."""
        return ((stage, pace, self.wait(stage, pace)) for stage in STAGES for pace in PACES)


DEFAULT = Policy()


def checked(policy: Policy) -> Policy:
    """The policy, if tokens fall from stage to stage; otherwise ``Invalid`` names where they do not."""
    for before, after in pairwise(STAGES):
        most = policy.tokens(before)
        if policy.tokens(after) >= most:
            raise errors.invalid(
                f"policy.{after.name.lower()}.tokens",
                f"must be less than the {most} of policy.{before.name.lower()}.tokens",
                "policy.tokens_fall",
            )
    return policy


def next_stage(stage: Stage, *, fresh: bool) -> Stage:
    """Where a memory that is due goes. What stayed in ring FRESH untouched goes at once."""
    return Stage.FORGOTTEN if fresh else Stage(stage + 1)

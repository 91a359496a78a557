"""Where memories will stand, if nothing is read or observed until then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from services.decay.ageing.policy import Policy, Stage, next_stage


@dataclass(frozen=True, slots=True)
class Age:
    """How old a memory is, and what that depends on."""

    stage: Stage
    pace: int
    fresh: bool
    """Whether it is in ring FRESH."""
    shock: bool
    aged_from: datetime
    used_at: datetime
    content_tokens: int
    summary_tokens: int
    essence_tokens: int

    def tokens(self, stage: Stage, policy: Policy) -> int:
        """How many tokens it has at most once it has come to a stage."""
        if stage is Stage.FORGOTTEN:
            return 0
        if stage is self.stage:
            return self.content_tokens
        most = min(self.content_tokens, policy.tokens(stage))
        if stage is Stage.SUMMARY:
            return min(most, self.summary_tokens)
        return min(most, self.essence_tokens) if stage is Stage.ESSENCE else most


@dataclass(frozen=True, slots=True)
class Passage:
    """A step of a memory."""

    stage: Stage
    """The stage that it enters."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Outlook:
    """What there will be on a date: memories and tokens by stage."""

    at: datetime
    memories: dict[Stage, int]
    tokens: dict[Stage, int]


def passages(age: Age, policy: Policy, now: datetime) -> Iterator[Passage]:
    """The steps that a memory has before it. What is late takes one now, and the next in its time."""
    if age.shock:
        return
    stage, since = age.stage, age.aged_from
    while stage is not Stage.FORGOTTEN:
        due = max(now, since + policy.wait(stage, age.pace))
        end = max(now, age.used_at + policy.fresh)
        untouched = age.fresh and end <= due
        since = end if untouched else due
        stage = next_stage(stage, fresh=untouched)
        yield Passage(stage, since)


class Outlooks:
    """Adds up what many memories will be on some dates."""

    def __init__(self, policy: Policy, dates: Sequence[datetime], now: datetime) -> None:
        """Take the dates; those that have passed stand for now."""
        self._policy = policy
        self._now = now
        self._dates = sorted(max(date, now) for date in dates)
        # By stage: by how much each date has more than the one before, and one place beyond the last.
        self._memories = {stage: [0] * (len(self._dates) + 1) for stage in Stage}
        self._tokens = {stage: [0] * (len(self._dates) + 1) for stage in Stage}

    def add(self, ages: Iterable[Age]) -> None:
        """Count some memories in."""
        for age in ages:
            at, stage = 0, age.stage
            for passage in passages(age, self._policy, self._now):
                until = bisect_left(self._dates, passage.at)
                self._count(age, stage, at, until)
                at, stage = until, passage.stage
            self._count(age, stage, at, len(self._dates))

    def outlooks(self) -> list[Outlook]:
        """What there will be on each date, in their order."""
        memories = {stage: list(accumulate(steps)) for stage, steps in self._memories.items()}
        tokens = {stage: list(accumulate(steps)) for stage, steps in self._tokens.items()}
        return [
            Outlook(
                date,
                {stage: memories[stage][at] for stage in Stage},
                {stage: tokens[stage][at] for stage in Stage},
            )
            for at, date in enumerate(self._dates)
        ]

    def _count(self, age: Age, stage: Stage, first: int, end: int) -> None:
        if first == end:
            return
        tokens = age.tokens(stage, self._policy)
        for counts, amount in ((self._memories, 1), (self._tokens, tokens)):
            counts[stage][first] += amount
            counts[stage][end] -= amount

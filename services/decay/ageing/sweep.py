"""What a sweep did to the memories of a profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from uuid import UUID

from libs import errors
from services.decay.ageing.policy import Stage

SWEEPS_KEPT = timedelta(days=90)


class SweepNotFound(errors.Missing):
    """There is no sweep with this id, or it was more than 90 days ago."""

    reason = "SWEEP_NOT_FOUND"


class Trigger(IntEnum):
    """What made it run. The numbers are those of the contract and of the database."""

    REQUEST = 1
    SCHEDULE = 2


class Result(IntEnum):
    """What came of a step. The numbers are those of memory's contract."""

    MOVED = 1
    SKIPPED = 2
    FAILED = 3
    SET_ASIDE = 4


@dataclass(slots=True)
class Tally:
    """What was done to a profile, in numbers."""

    entered: dict[Stage, int] = field(default_factory=dict[Stage, int])
    """Memories by the stage that they came to."""
    failed: int = 0
    set_aside: int = 0
    tokens_freed: int = 0

    def add(self, stage: Stage, result: Result, tokens_freed: int) -> None:
        """Count one step."""
        if result is Result.MOVED:
            self.entered[stage] = self.entered.get(stage, 0) + 1
            self.tokens_freed += tokens_freed
        self.failed += result is Result.FAILED
        self.set_aside += result is Result.SET_ASIDE


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one sweep did to a profile."""

    id: UUID
    trigger: Trigger
    started_at: datetime
    ended_at: datetime
    tally: Tally
    complete: bool

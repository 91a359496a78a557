"""What a task came to, and why it may not be there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from libs import errors
from services.results.results.values import Encoding
from services.results.runs.run import State, Status

POLL_SECONDS = 1.0
"""When to ask again for what is not there yet. Waiting is better."""
PART_BYTES = 1_048_576
"""What each part of a content has but the last, where there are several."""


class ResultNotReady(errors.NotReady):
    """The task has no result yet. Ask again, or wait for it."""

    reason = "RESULT_NOT_READY"

    def __init__(self) -> None:
        """Ask again in a second."""
        super().__init__(retry_after=POLL_SECONDS)


class ResultExpired(errors.Missing):
    """The run has expired, and its results with it."""

    reason = "RESULT_EXPIRED"


class ResultUnknown(errors.Missing):
    """There is no such run, or it ended without a result of this task."""

    reason = "RESULT_UNKNOWN"


class ResultConflict(errors.Conflict):
    """Something else is kept there already. Only a higher attempt replaces a result."""

    reason = "RESULT_CONFLICT"

    @classmethod
    def of(cls, attempt: int) -> ResultConflict:
        """With the attempt that stands."""
        return cls(
            f"Another result is kept, of attempt {attempt}. Only a higher attempt replaces it.",
            metadata={"attempt": str(attempt)},
        )


@dataclass(frozen=True, slots=True)
class Key:
    """Where a result is found in its profile."""

    workflow_id: str
    task_id: str
    """Empty: the final result of the run."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said about a content."""

    task_id: str
    content_type: str
    sha256: str
    error: str
    """Empty if not given."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a task came to, without its content."""

    workflow_id: str
    run_id: UUID
    labels: Labels
    status: Status
    attempt: int
    position: int
    size_bytes: int
    parts: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """What a task came to; of a content in several parts, one."""

    step: Step
    content: bytes
    encoding: Encoding
    part: int = 0


@dataclass(frozen=True, slots=True)
class Final:
    """What a run came to: a task's result, the thread of its turns, or its outcome."""

    workflow_id: str
    run_id: UUID
    state: State
    result: Result | None
    turns: int
    """0 unless it is the thread."""
    outcome: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Arrival:
    """The next result of a run, if there is one, and where the run stands."""

    result: Result | None
    state: State


@dataclass(frozen=True, slots=True)
class Several:
    """Results of several tasks."""

    results: list[Result]
    not_ready: list[str]
    left_out: list[str]


def require_part(part: int, parts: int) -> None:
    """See that there is such a part. Raises ``Invalid``."""
    if part >= parts:
        raise errors.invalid("part", f"must be below {parts}, the number of parts", "result.part")

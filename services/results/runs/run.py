"""A run, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from libs import errors


class RunNotFound(errors.Missing):
    """There is no run with this id."""

    reason = "RUN_NOT_FOUND"


class RunExists(errors.Conflict):
    """A run with this workflow id is there, with another kind, goal or parent. Choose another workflow id."""

    reason = "RUN_EXISTS"


class RunClosed(errors.WrongState):
    """The run was finished already, otherwise than asked now."""

    reason = "RUN_CLOSED"


class RunCancelled(errors.WrongState):
    """The run was cancelled: nothing is put into it any more, and what is not there will not come."""

    reason = "RUN_CANCELLED"


class FinalNotReady(errors.NotReady):
    """The task whose result is to be the final one has none yet. Put it first."""

    reason = "RESULT_NOT_READY"


class Kind(IntEnum):
    """What a run is for."""

    MISSION = 1
    SCHEDULED = 2
    HEARTBEAT = 3
    SYSTEM = 4
    CHILD = 5


class Status(IntEnum):
    """How a task or a run came out."""

    SUCCEEDED = 1
    FAILED = 2


class State(IntEnum):
    """Where a run stands."""

    RUNNING = 1
    SUCCEEDED = 2
    FAILED = 3
    CANCELLED = 4

    @classmethod
    def after(cls, status: Status) -> State:
        """Where a run stands that came out like this."""
        return cls.SUCCEEDED if status is Status.SUCCEEDED else cls.FAILED


@dataclass(frozen=True, slots=True)
class Run:
    """One run."""

    id: UUID
    workflow_id: str
    kind: Kind
    state: State
    goal: str
    """Empty if not given."""
    outcome: str
    """Empty before it was finished."""
    parent: UUID | None
    implicit: bool
    """A first result or turn began it."""
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """A run and how far it has come."""

    run: Run
    succeeded: int
    failed: int
    turns: int

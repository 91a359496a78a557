"""A session: observations that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from libs import errors


class SessionNotFound(errors.Missing):
    """There is no session with this id."""

    reason = "SESSION_NOT_FOUND"


class SessionClosed(errors.WrongState):
    """The session has ended. Start another one to observe."""

    reason = "SESSION_CLOSED"


class SessionState(IntEnum):
    """Whether a session takes observations."""

    OPEN = 1
    ENDED = 2


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation, one run, one piece of work."""

    id: UUID
    name: str
    """What the caller calls it."""
    agent: str
    """Empty if none was given."""
    state: SessionState
    observation_count: int
    total_tokens: int
    started_at: datetime
    active_at: datetime
    ended_at: datetime | None

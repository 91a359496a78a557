"""How old memories are, what is due, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from uuid import UUID

from services.memory.memories.rings import Ring, Stage

LEASE = timedelta(minutes=2)
"""How long nobody else is given what somebody took."""
ATTEMPTS_MAX = 5
"""Then a memory is set aside, and the rest goes on."""
RETRY = timedelta(minutes=1)
"""Until a memory is tried again, for each attempt so far."""
SET_ASIDE = timedelta(days=1)
TOMBSTONE_KEPT = timedelta(days=30)
LEASE_KEPT = timedelta(days=7)
"""How long it is remembered that a memory could not be moved."""


class Result(IntEnum):
    """What came of a step. The numbers are those of the contract."""

    MOVED = 1
    SKIPPED = 2
    FAILED = 3
    SET_ASIDE = 4


@dataclass(frozen=True, slots=True)
class Wait:
    """How long the memories of a workspace wait."""

    workspace: UUID
    stage: Stage | None
    """``None``: in ring FRESH, at any stage, since they were last touched."""
    pace: int
    wait: timedelta


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is due."""

    profile: UUID
    memory_id: UUID
    workspace: UUID
    stage: Stage
    fresh: bool
    """Whether it is due because it stayed in ring FRESH, untouched."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What somebody has leased."""

    due: Sequence[Due]
    token: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Step:
    """What is to become of one memory."""

    profile: UUID
    memory_id: UUID
    stage: Stage
    tokens: int
    """Of what is left, at most."""
    keep_original: bool


@dataclass(frozen=True, slots=True)
class Restaged:
    """What came of a step."""

    result: Result
    tokens_freed: int = 0


@dataclass(frozen=True, slots=True)
class Age:
    """How old a memory is, and what that depends on."""

    memory_id: UUID
    ring: Ring
    stage: Stage
    pace: int
    aged_from: datetime
    used_at: datetime
    content_tokens: int
    summary_tokens: int
    essence_tokens: int

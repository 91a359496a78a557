"""A memory: an observation that was kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from libs import errors
from libs.quota import QuotaExceeded
from services.memory.memories.metadata import Metadata
from services.memory.memories.observations import Labels
from services.memory.memories.rings import Outcome, Ring, RingSetter, Stage, Type


class MemoryNotFound(errors.Missing):
    """There is no memory with this id."""

    reason = "MEMORY_NOT_FOUND"


class MemoryDeleted(MemoryNotFound):
    """The memory of this idempotency key was deleted since."""


class MemoriesFull(QuotaExceeded):
    """The profile keeps as many memories as it may. Delete some, or ask for a larger quota."""

    @classmethod
    def at(cls, limit: int, room: int) -> MemoriesFull:
        """At so many memories, when more were brought than there is room for."""
        message = (
            f"The profile may keep {limit} memories and has room for {room}. "
            "Delete some, or ask for a larger quota."
        )
        return cls(message, metadata={"quota": "memories", "limit": str(limit), "room": str(room)})


@dataclass(frozen=True, slots=True)
class Texts:
    """What is left of what was observed, and what it counts in tokens."""

    content: str
    """The fullest text that was read; empty where it was not asked for."""
    summary: str
    essence: str
    content_tokens: int
    summary_tokens: int
    essence_tokens: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Who set a memory's ring, and why."""

    set_by: RingSetter
    confidence: float | None
    """``None`` unless the curator set it."""
    reason: str
    """A code; empty where nobody set it."""
    note: str
    """What a caller said about it."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered."""

    id: UUID
    session_id: UUID
    position: int
    ring: Ring
    placement: Placement
    stage: Stage
    type: Type
    outcome: Outcome
    source: int
    texts: Texts
    labels: Labels
    metadata: Metadata
    successes: int
    failures: int
    reinforcement_count: int
    access_count: int
    secrets_removed: int
    embedding_model: str
    """Empty while it is not embedded."""
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    touched_at: datetime
    version: int
    """What its sealed texts are bound to: goes up whenever they are written anew."""
    revision: int
    """Which version of its content this is, from 1."""
    valid_until: datetime | None
    superseded_by: UUID | None
    repeats: bool
    """It says again what ``superseded_by`` says."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of an observation."""

    memory: Memory
    reinforced: bool
    """Whether it was there already."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A memory that stands near another."""

    id: UUID
    essence: str
    position: int
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """What a profile remembers, in numbers."""

    rings: dict[Ring, int]
    stages: dict[Stage, int]
    content_tokens: int
    secrets_removed: int
    sessions: int
    open_sessions: int
    pending: int

"""Pairs of memories that may contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from libs import errors
from services.memory.memories.memory import Memory
from services.memory.repetition.likeness import Difference


class ConflictNotFound(errors.Missing):
    """These two memories are not reported as a conflict."""

    reason = "CONFLICT_NOT_FOUND"


class ConflictKind(IntEnum):
    """What two memories that are otherwise alike differ in."""

    NUMBER = 1
    NEGATION = 2
    NAME = 3
    CONTRAST = 4
    ORDER = 5


KINDS = {Difference[kind.name]: kind for kind in ConflictKind}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A pair that has just been found."""

    newer: UUID
    older: UUID
    kind: ConflictKind
    cosine: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """A pair that was found, with what the two say."""

    newer: Memory
    older: Memory
    kind: ConflictKind
    cosine: float
    found_at: datetime

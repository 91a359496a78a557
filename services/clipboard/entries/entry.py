"""An entry of a clipboard, and who may read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from libs import errors
from services.clipboard.entries.values import Encoding


class EntryNotFound(errors.Missing):
    """There is no clipboard entry of this name or at this place."""

    reason = "ENTRY_NOT_FOUND"


class Visibility(IntEnum):
    """Who may read an entry."""

    PRIVATE = 1
    WORKSPACE = 2
    PUBLIC = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A profile in its workspace."""

    profile: UUID
    workspace: UUID


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said about a value, as it was written."""

    name: str
    """Empty on the stack."""
    content_type: str
    tool: str
    """Empty if not given."""
    model: str
    """Empty if not given."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing on a clipboard: it has a name, or a place on the stack, never both."""

    id: UUID
    labels: Labels
    depth: int | None
    """How many of the stack are newer."""
    position: int | None
    """Its number on the stack, from 1."""
    value: str | None
    """``None`` where it is left out."""
    encoding: Encoding
    size_bytes: int
    visibility: Visibility
    source: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime

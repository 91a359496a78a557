"""The stack: what a push or a pop came to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from libs import errors
from services.clipboard.entries.entry import Entry

KEY_KEPT = timedelta(hours=24)
"""How long a call with an idempotency key is known again."""
POPPED_KEPT = timedelta(minutes=10)
"""How long what such a pop took can be answered again."""
POPPED_KEPT_MAX = 1_000
"""Changes of the stack after which it cannot, however soon they come."""


class StackEmpty(errors.Missing):
    """Nothing is on the stack. Push something first."""

    reason = "STACK_EMPTY"

    @classmethod
    def at(cls, version: int) -> StackEmpty:
        """At a version of the stack, so that the order of this answer is known like any other's."""
        return cls(metadata={"stack_version": str(version)})


@dataclass(frozen=True, slots=True)
class Stacked:
    """An entry of the stack, and the version of the stack that goes with it."""

    entry: Entry
    version: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """What clearing removed, and the version that it made of the stack."""

    entries: int
    version: int

"""What all calls of MemoryService go by: the clock, pages, and how much and how long a profile may keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from libs import quota
from libs.clock import Clock
from libs.rpc.caller import caller
from libs.rpc.lists import Lists


@dataclass(frozen=True, slots=True)
class Keeping:
    """Built once for a process."""

    clock: Clock
    lists: Lists
    memories_max: int
    """Memories of a profile whose quota does not say otherwise."""
    undo: timedelta
    """How long a deleted memory can be brought back; 0: not at all."""

    def allowed(self) -> int:
        """Memories that the caller may keep."""
        return quota.allowed(caller().quota.memories_max, self.memories_max)

"""Reads of memories, counted in passing and written together.

Reading would otherwise cost a write. What is lost when a process is killed is a second of counts, never a
memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from libs.clock import Clock
from services.memory.memories.store import Store

PROFILES_MAX = 10_000
MEMORIES_MAX = 1_000
"""Of one profile, between two writes. Reads beyond are not counted."""


class Touches:
    """Reads that are not written yet."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._reads: dict[UUID, Counter[UUID]] = {}

    def note(self, profile: UUID, memory_ids: Iterable[UUID]) -> None:
        """Count that these memories were read."""
        reads = self._reads.get(profile)
        if reads is None:
            if len(self._reads) >= PROFILES_MAX:
                return
            reads = self._reads[profile] = Counter()
        for memory_id in memory_ids:
            if memory_id in reads or len(reads) < MEMORIES_MAX:
                reads[memory_id] += 1

    async def flush(self) -> None:
        """Write what was counted; a loop does this every second, and the end of the service once more."""
        for _ in range(len(self._reads)):
            profile, reads = self._reads.popitem()
            await self._store.touch(profile, reads, self._clock())

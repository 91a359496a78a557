"""Conflicts as messages of ``treering.memory.v1``."""

from __future__ import annotations

from typing import cast

from treering.memory.v1 import memory_pb2

from libs.messages import of_time
from services.memory.memories.wire import of_outline
from services.memory.repetition.conflicts import Conflict


def of_conflict(conflict: Conflict) -> memory_pb2.Conflict:
    """A pair that may contradict each other."""
    return memory_pb2.Conflict(
        newer=of_outline(conflict.newer),
        older=of_outline(conflict.older),
        kind=cast(memory_pb2.ConflictKind, conflict.kind),
        similarity=conflict.cosine,
        found_at=of_time(conflict.found_at),
    )

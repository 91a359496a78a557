"""Revise and supersede: understand the new words as an observation's, then change what is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from libs.errors import Changed
from services.memory.memories.drafts import Batch
from services.memory.memories.memory import Memory, MemoryNotFound
from services.memory.memories.observations import Raw
from services.memory.memories.observe import Observer
from services.memory.memories.store import Store
from services.memory.rings.revisions import Revision, Rewrite, VersionNotFound
from services.memory.rings.standing import MemorySuperseded
from services.memory.rings.store import RingStore

ATTEMPTS_MAX = 3
"""For a caller who names no version, while others change the same memory."""


class Changes:
    """Gives memories other words."""

    def __init__(self, store: Store, rings: RingStore, observer: Observer) -> None:
        self._store = store
        self._rings = rings
        self._observer = observer

    async def revise(self, profile: UUID, memory_id: UUID, rewrite: Rewrite, now: datetime) -> Memory:
        """Give a memory new content, or that of an earlier version; the same content changes nothing.

        Raises ``MemoryNotFound``, ``VersionNotFound``, ``MemorySuperseded``, ``ContentKept``, and ``Changed``
        when it is at another version than expected.
        """
        for _ in range(ATTEMPTS_MAX):
            memory = await self._read(profile, memory_id)
            if rewrite.expected_number not in (0, memory.revision):
                raise Changed
            if memory.superseded_by:
                raise MemorySuperseded.of(memory)
            content = rewrite.content or (await self._earlier(profile, memory_id, rewrite)).content
            batch = await self._understood(profile, replace(_as_raw(memory), content=content), memory.id)
            if batch.drafts[0].observation.content == memory.texts.content:
                return memory
            revised = await self._rings.revise(profile, memory.version, batch, now)
            if revised is not None:
                return revised
        raise Changed

    async def supersede(
        self,
        workspace: UUID,
        profile: UUID,
        memory_id: UUID,
        content: str,
        source: int,
        memories_max: int,
        now: datetime,
    ) -> tuple[Memory, Memory]:
        """Close a memory with a newer one of the same kind: the older, then the newer.

        Raises ``MemoryNotFound``, ``MemorySuperseded``, ``MemoriesFull``, ``Invalid`` for the content that it
        has already.
        """
        older = await self._read(profile, memory_id)
        batch = await self._understood(profile, replace(_as_raw(older), content=content, metadata={}))
        return await self._rings.supersede(workspace, profile, memory_id, source, batch, memories_max, now)

    async def _read(self, profile: UUID, memory_id: UUID) -> Memory:
        found = await self._store.get(profile, [memory_id])
        if memory_id not in found:
            raise MemoryNotFound
        return found[memory_id]

    async def _earlier(self, profile: UUID, memory_id: UUID, rewrite: Rewrite) -> Revision:
        found = await self._rings.versions(profile, memory_id, 1, rewrite.from_number + 1)
        if not found or found[0].number != rewrite.from_number:
            raise VersionNotFound
        return found[0]

    async def _understood(self, profile: UUID, raw: Raw, memory_id: UUID | None = None) -> Batch:
        """What is made of new words; under the id of the memory that has them, if there is one."""
        batch = await self._observer.understand(profile, [("", raw)])
        if memory_id is None:
            return batch
        return replace(batch, drafts=[replace(draft, id=memory_id) for draft in batch.drafts])


def _as_raw(memory: Memory) -> Raw:
    """A memory as an observation that has not been kept: how it turned out is not part of it."""
    return Raw(
        content=memory.texts.content,
        type=memory.type,
        actor=memory.labels.actor,
        tags=memory.labels.tags,
        aliases=memory.labels.aliases,
        metadata=memory.metadata.fields,
    )

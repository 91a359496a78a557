"""Changes of memories in Postgres. Each is one SQL function: one round trip and one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from libs import errors
from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from services.memory.memories import rows
from services.memory.memories.drafts import Batch
from services.memory.memories.memory import MemoriesFull, Memory, MemoryNotFound
from services.memory.memories.observations import KeyReused
from services.memory.memories.rings import Outcome
from services.memory.memories.store import IDEMPOTENCY_KEPT
from services.memory.rings import rows as version_rows
from services.memory.rings.revisions import VERSIONS_MAX, Revision
from services.memory.rings.standing import ContentKept, MemorySuperseded, RingNotEarned, ShockStays, Wish

PACKAGE = "services.memory.rings"

REFUSALS: Mapping[str, Callable[[Memory], errors.Problem]] = {
    "content_kept": lambda _: ContentKept(),
    "key_reused": lambda _: KeyReused(),
    "not_earned": RingNotEarned.by,
    "shock_stays": lambda _: ShockStays(),
    "same_content": lambda _: errors.invalid(
        "content", "must differ from what it supersedes", "supersede.same"
    ),
    "superseded": MemorySuperseded.of,
}
"""By the verdict of a function, and of the memory that it answers with."""


class RingStore:
    """What changes memories, by profile."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def reinforce(
        self, profile: UUID, memory_id: UUID, outcome: Outcome, key: str, now: datetime
    ) -> Memory:
        """Record an outcome; once for each idempotency key. Raises ``MemoryNotFound``, ``KeyReused``."""
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(
            self._queries.reinforce,
            profile,
            memory_id,
            outcome,
            keys.blind("idempotency key", key) if key else None,
            keys.blind("request", f"reinforce {memory_id} {int(outcome)}") if key else None,
            now,
            now + IDEMPOTENCY_KEPT,
        )
        return _answered(keys, row)

    async def promote(self, profile: UUID, wish: Wish, now: datetime) -> Memory:
        """Put a memory into a ring.

        Raises ``MemoryNotFound``, ``MemorySuperseded``, ``RingNotEarned``, and ``ShockStays`` for a shock
        without confirmation and reason.
        """
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(
            self._queries.promote,
            profile,
            wish.memory_id,
            wish.ring,
            rows.seal_note(keys, wish.memory_id, wish.reason) if wish.reason else None,
            wish.demote_shock,
            now,
        )
        return _answered(keys, row)

    async def delete(self, profile: UUID, memory_id: UUID, purge_at: datetime | None) -> None:
        """Take a memory out of every read; for good at a time, or at once. Raises ``MemoryNotFound``."""
        if not await self._database.fetchval(self._queries.forget, profile, memory_id, purge_at):
            raise MemoryNotFound

    async def restore(self, profile: UUID, memory_id: UUID, memories_max: int, now: datetime) -> Memory:
        """Bring back what was deleted, if the profile may hold one more.

        Raises ``MemoryNotFound``, ``MemoriesFull``, ``ContentKept`` if it was kept anew.
        """
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(self._queries.restore, profile, memory_id, memories_max, now)
        _refuse_full(row, memories_max)
        return _answered(keys, row)

    async def purge(self, limit: int, now: datetime) -> int:
        """Delete for good some that can no longer be brought back, of any profile. Answers how many."""
        return await self._database.fetchval(self._queries.purge_deleted, limit, now)

    async def revise(self, profile: UUID, version: int, batch: Batch, now: datetime) -> Memory | None:
        """Give the batch's one memory new content; ``None`` if it is no longer at this sealed version.

        Raises ``MemoryNotFound``, ``MemorySuperseded``, ``ContentKept``.
        """
        keys = await self._keyring.of(profile)
        [draft], [vector] = batch.drafts, batch.vectors
        row = await self._database.fetchrow(
            self._queries.revise,
            profile,
            draft.id,
            version,
            rows.item_of(keys, None, draft, vector, version + 1),
            batch.model,
            batch.preferred_model,
            VERSIONS_MAX,
            now,
        )
        return None if row is not None and row["verdict"] == "changed" else _answered(keys, row)

    async def supersede(
        self,
        workspace: UUID,
        profile: UUID,
        memory_id: UUID,
        source: int,
        batch: Batch,
        memories_max: int,
        now: datetime,
    ) -> tuple[Memory, Memory]:
        """Close a memory with the batch's one draft: the older, then the newer.

        Raises ``MemoryNotFound``, ``MemorySuperseded``, ``MemoriesFull``, ``Invalid`` for the content that it
        has already.
        """
        keys = await self._keyring.of(profile)
        [draft], [vector] = batch.drafts, batch.vectors
        [row] = await self._database.fetch(
            self._queries.supersede,
            workspace,
            profile,
            memory_id,
            source,
            rows.item_of(keys, None, draft, vector),
            batch.model,
            batch.preferred_model,
            memories_max,
            now,
        )
        _refuse_full(row, memories_max)
        older = _answered(keys, row)
        return older, rows.memory_of(keys, row["successor"])

    async def versions(
        self, profile: UUID, memory_id: UUID, limit: int, before: int | None
    ) -> list[Revision]:
        """What a memory says and said, the newest first. Raises ``MemoryNotFound``."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.versions, profile, memory_id, before, limit)
        if not found and before is None:
            raise MemoryNotFound
        return [version_rows.revision_of(keys, row) for row in found]


def _refuse_full(row: Row | None, memories_max: int) -> None:
    """Raise if there was no room for one more memory."""
    if row is not None and row["verdict"] == "quota_exceeded":
        raise MemoriesFull.at(memories_max, room=0)


def _answered(keys: ProfileKeys, row: Row | None) -> Memory:
    """The memory that a function answers with, or the problem that its verdict means."""
    if row is None or row["shown"] is None:
        raise MemoryNotFound
    memory = rows.memory_of(keys, row["shown"])
    refuse = REFUSALS.get(row["verdict"])
    if refuse is not None:
        raise refuse(memory)
    return memory

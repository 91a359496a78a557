"""Memories in Postgres."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from services.memory.memories import rows
from services.memory.memories.drafts import Batch
from services.memory.memories.memory import Kept, MemoriesFull, Memory, MemoryDeleted, Neighbor, Stats
from services.memory.memories.observations import KeyReused
from services.memory.memories.rings import Ring, Stage
from services.memory.sessions.rows import session_of
from services.memory.sessions.session import Session, SessionClosed, SessionNotFound

PACKAGE = "services.memory.memories"
IDEMPOTENCY_KEPT = timedelta(hours=24)
RELATED_MAX = 3
RELATED_COSINE_MIN = 0.3
"""Below this, two texts have little to do with each other, whatever the model."""

REFUSALS = {
    "session_not_found": SessionNotFound,
    "session_closed": SessionClosed,
    "key_reused": KeyReused,
    "memory_deleted": MemoryDeleted,
}
"""By the verdict of ``memory.observe``."""

Neighbors = Mapping[UUID, Sequence[Neighbor]]


class Store:
    """What is kept of memories, by profile."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def keys(self, profile: UUID) -> ProfileKeys:
        """The keys that a profile's texts are sealed and blinded with."""
        return await self._keyring.of(profile)

    async def observe(
        self,
        workspace: UUID,
        profile: UUID,
        session_id: UUID,
        source: int,
        batch: Batch,
        memories_max: int,
        now: datetime,
    ) -> list[Kept]:
        """Keep a batch, all of it or none, in one round trip. One answer for each draft, in order.

        The profile holds ``memories_max`` afterwards at most, unless nothing new came. Raises
        ``SessionNotFound``, ``SessionClosed``, ``KeyReused``, ``MemoriesFull``; ``MemoryDeleted`` for a
        repeated call whose memory was deleted since.
        """
        keys = await self._keyring.of(profile)
        items = [
            rows.item_of(keys, session_id, draft, vector)
            for draft, vector in zip(batch.drafts, batch.vectors, strict=True)
        ]
        answer = await self._database.fetch(
            self._queries.observe,
            workspace,
            profile,
            session_id,
            source,
            items,
            batch.model,
            batch.preferred_model,
            now,
            now + IDEMPOTENCY_KEPT,
            memories_max,
        )
        if answer and answer[0]["verdict"] == "quota_exceeded":
            raise MemoriesFull.at(memories_max, room=answer[0]["number"])
        return [_kept(keys, row) for row in answer]

    async def get(self, profile: UUID, ids: Sequence[UUID]) -> dict[UUID, Memory]:
        """Those of some memories that exist, with their fullest texts."""
        return await self._by_id(self._queries.memories, profile, ids)

    async def newest(
        self,
        profile: UUID,
        rings: Sequence[Ring],
        limit: int,
        after: tuple[datetime, UUID] | None,
    ) -> list[Memory]:
        """Memories without full texts, the newest first; all rings where none are named."""
        created_at, memory_id = after or (None, None)
        return await self._memories(
            self._queries.newest, profile, list(rings) or None, created_at, memory_id, limit
        )

    async def newest_whole(
        self, profile: UUID, limit: int, after: tuple[datetime, UUID] | None
    ) -> list[Memory]:
        """Memories of all rings with their full texts, the newest first."""
        return await self._memories(self._queries.newest_whole, profile, *(after or (None, None)), limit)

    async def newest_in_session(
        self, profile: UUID, session_id: UUID, rings: Sequence[Ring], limit: int, before: int | None
    ) -> list[Memory]:
        """The same of one session, before a position if one is given."""
        return await self._memories(
            self._queries.newest_in_session, profile, session_id, list(rings) or None, before, limit
        )

    async def timeline(
        self, profile: UUID, ids: Sequence[UUID], neighbors: int
    ) -> tuple[list[Memory], dict[UUID, Session], Neighbors, Neighbors]:
        """Memories without full texts, their sessions, what stands beside each, and what is close to it."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.outlines, profile, ids)
            here = [row["id"] for row in found]
            session_ids = list({row["session_id"] for row in found})
            sessions = await connection.fetch(self._queries.sessions_by_id, profile, session_ids)
            beside = await connection.fetch(self._queries.neighbors, profile, here, neighbors)
            related = await connection.fetch(
                self._queries.related, profile, here, RELATED_MAX, RELATED_COSINE_MIN
            )
        return (
            [rows.memory_of(keys, row) for row in found],
            {row["id"]: session_of(keys, row) for row in sessions},
            _grouped(keys, beside),
            _grouped(keys, related),
        )

    async def stats(self, profile: UUID) -> Stats:
        """What a profile remembers, in numbers."""
        async with self._database.as_profile(profile) as connection:
            counts = await connection.fetch(self._queries.counts, profile)
            [others] = await connection.fetch(self._queries.session_counts, profile)
        rings: dict[Ring, int] = defaultdict(int)
        stages: dict[Stage, int] = defaultdict(int)
        for row in counts:
            rings[Ring(row["ring"])] += row["memories"]
            stages[Stage(row["stage"])] += row["memories"]
        return Stats(
            rings=dict(sorted(rings.items())),
            stages=dict(sorted(stages.items())),
            content_tokens=sum(row["content_tokens"] for row in counts),
            secrets_removed=sum(row["secrets_removed"] for row in counts),
            sessions=others["sessions"],
            open_sessions=others["open_sessions"],
            pending=others["pending"],
        )

    async def touch(self, profile: UUID, reads: Mapping[UUID, int], now: datetime) -> None:
        """Count reads of memories. Those that are gone are passed over."""
        await self._database.execute(
            self._queries.touch, profile, list(reads.keys()), list(reads.values()), now
        )

    async def forget_keys(self, limit: int, now: datetime) -> int:
        """Delete some idempotency keys whose time is over, of any profile. Answers how many."""
        return await self._database.fetchval(self._queries.forget_keys, limit, now)

    async def _by_id(self, query: str, profile: UUID, ids: Sequence[UUID]) -> dict[UUID, Memory]:
        return {memory.id: memory for memory in await self._memories(query, profile, ids)}

    async def _memories(self, query: str, profile: UUID, *args: object) -> list[Memory]:
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(query, profile, *args)
        return [rows.memory_of(keys, row) for row in found]


def _kept(keys: ProfileKeys, row: Row) -> Kept:
    refusal = REFUSALS.get(row["verdict"])
    if refusal is not None:
        raise refusal
    return Kept(rows.memory_of(keys, row["shown"]), row["reinforced"])


def _grouped(keys: ProfileKeys, found: Sequence[Row]) -> Neighbors:
    groups: dict[UUID, list[Neighbor]] = defaultdict(list)
    for row in found:
        groups[row["of_id"]].append(rows.neighbor_of(keys, row))
    return groups

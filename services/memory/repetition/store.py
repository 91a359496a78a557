"""Repetitions and conflicts in Postgres."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from services.memory.memories.rows import memory_of, readable_of
from services.memory.repetition.conflicts import Conflict, ConflictKind, ConflictNotFound, Suspicion

PACKAGE = "services.memory.repetition"
NEAR_MAX = 8
"""Memories that one is compared with, the closest."""
NEWEST_MAX = 20_000
"""Memories of a profile that are looked at for closeness, the newest."""


@dataclass(frozen=True, slots=True)
class Near:
    """Another memory that is close in meaning."""

    id: UUID
    version: int
    text: str
    cosine: float
    later: bool
    """Whether it was kept after the one that it is close to."""


class RepetitionStore:
    """What is close to what, by profile."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def near(
        self, profile: UUID, ids: Collection[UUID], model: str, cosine_min: float
    ) -> Mapping[UUID, Sequence[Near]]:
        """For each of some memories the closest others, none below a cosine.

        Shocks are left out, and of two that are both asked about the later one: it finds the earlier.
        """
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(
                self._queries.near, profile, list(ids), model, cosine_min, NEWEST_MAX, NEAR_MAX
            )
        near: dict[UUID, list[Near]] = defaultdict(list)
        for row in found:
            if (text := readable_of(keys, row)) is not None:
                near[row["asked"]].append(Near(row["id"], row["version"], text, row["cosine"], row["later"]))
        return near

    async def repeat(
        self, profile: UUID, memory_id: UUID, version: int, other: UUID, other_version: int, now: datetime
    ) -> bool:
        """Let a memory be a repetition of another. Answers whether it is: not if one has changed."""
        return await self._database.fetchval(
            self._queries.repeat, profile, memory_id, version, other, other_version, now
        )

    async def report(self, profile: UUID, found: Sequence[Suspicion], now: datetime) -> None:
        """Keep pairs that may contradict each other."""
        columns = zip(*((each.newer, each.older, each.kind, each.cosine) for each in found), strict=True)
        async with self._database.as_profile(profile) as connection:
            await connection.execute(self._queries.report, profile, *map(list, columns), now)

    async def conflicts(
        self, profile: UUID, limit: int, after: tuple[datetime, UUID, UUID] | None
    ) -> list[Conflict]:
        """Pairs that were found and not dismissed, the newest first, without full texts."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(
                self._queries.conflicts, profile, *(after or (None, None, None)), limit
            )
        return [
            Conflict(
                newer=memory_of(keys, row["newer"]),
                older=memory_of(keys, row["older"]),
                kind=ConflictKind(row["kind"]),
                cosine=row["cosine"],
                found_at=row["found_at"],
            )
            for row in found
        ]

    async def dismiss(self, profile: UUID, one: UUID, other: UUID) -> None:
        """Report a pair no more. Raises ``ConflictNotFound``."""
        async with self._database.as_profile(profile) as connection:
            if not await connection.fetchval(self._queries.dismiss, profile, one, other):
                raise ConflictNotFound

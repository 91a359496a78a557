"""Ages, leases and stages in Postgres. Every moment is the database's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from services.memory.lifecycle import rows
from services.memory.lifecycle.ages import (
    ATTEMPTS_MAX,
    LEASE,
    LEASE_KEPT,
    RETRY,
    SET_ASIDE,
    TOMBSTONE_KEPT,
    Age,
    Due,
    Taken,
    Wait,
)
from services.memory.memories.rings import Ring, Stage

PACKAGE = "services.memory.lifecycle"


class LifecycleStore:
    """Which memories are due, of all profiles, and their next stages."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def keys(self, profile: UUID) -> ProfileKeys:
        """The keys that a profile's texts are sealed with."""
        return await self._keyring.of(profile)

    async def workspaces(self, after: UUID, limit: int) -> list[UUID]:
        """Workspaces with memories that can age, in the order of their ids."""
        found = await self._database.fetch(self._queries.list_workspaces, after, limit)
        return [row[0] for row in found]

    async def take_due(
        self, waits: Sequence[Wait], profile: UUID | None, limit: int, as_of: datetime | None
    ) -> Taken:
        """Lease some memories that were due at a moment, which is now where none is given."""
        moment = as_of or await self._database.fetchval(self._queries.present)
        asked = [(each.workspace, each.stage, each.pace, each.wait) for each in waits]
        found = await self._database.fetch(
            self._queries.list_due, asked, profile, limit, moment, LEASE, ATTEMPTS_MAX, SET_ASIDE
        )
        return Taken([_due(row) for row in found], found[0]["token"] if found else 0, moment)

    async def leased(self, profile: UUID, token: int, ids: Sequence[UUID]) -> list[Row]:
        """Those of some memories that are leased under a token and are still what they were, sealed."""
        async with self._database.as_profile(profile) as connection:
            return await connection.fetch(self._queries.leased, profile, ids, token)

    async def move(self, profile: UUID, token: int, items: Sequence[rows.Item]) -> set[UUID]:
        """Move memories to their next stages, and answer which were still what they were."""
        moved = await self._database.fetch(self._queries.restage, profile, token, items)
        return {row[0] for row in moved}

    async def give_back(
        self, profile: UUID, token: int, changed: Collection[UUID], failed: Collection[UUID]
    ) -> set[UUID]:
        """Let go of what did not move; what failed is tried again later. Answers which are set aside."""
        set_aside = await self._database.fetch(
            self._queries.give_back,
            profile,
            token,
            list(changed),
            list(failed),
            ATTEMPTS_MAX,
            RETRY,
            SET_ASIDE,
        )
        return {row[0] for row in set_aside}

    async def ages(
        self, profile: UUID, memory_id: UUID | None, after: UUID, limit: int
    ) -> tuple[list[Age], datetime]:
        """How old a profile's memories are, in the order of their ids; and the moment at which."""
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.ages, profile, memory_id, after, limit)
            now = found[0]["present"] if found else await connection.fetchval(self._queries.present)
        return [_age(row) for row in found], now

    async def forget_tombstones(self, limit: int) -> int:
        """Delete some tombstones whose time is over. Answers how many."""
        return await self._database.fetchval(
            self._queries.forget_tombstones, limit, TOMBSTONE_KEPT, LEASE_KEPT
        )


def _due(row: Row) -> Due:
    return Due(row["profile_id"], row["memory_id"], row["workspace_id"], Stage(row["stage"]), row["fresh"])


def _age(row: Row) -> Age:
    return Age(
        row["id"],
        Ring(row["ring"]),
        Stage(row["stage"]),
        row["pace"],
        row["aged_from"],
        row["used_at"],
        row["content_tokens"],
        row["summary_tokens"],
        row["essence_tokens"],
    )

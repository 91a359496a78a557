"""What a brief reads besides what a search finds."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from services.memory.search.layers import Hit
from services.memory.search.store import hit_of
from services.memory.sessions.reports import ZReport
from services.memory.sessions.rows import report_of

PACKAGE = "services.memory.brief"


class BriefStore:
    """Memories and reports, as a brief sees them."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def reinforced(self, profile: UUID, limit: int) -> list[Hit]:
        """The most reinforced of each ring but FRESH, so many of each."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.reinforced, profile, limit)
        return [hit_of(keys, row, 1.0) for row in found]

    async def last_report(self, profile: UUID, sessions: Sequence[UUID] | None) -> ZReport | None:
        """The newest report of some sessions; of all, where none are named."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.last_report, profile, sessions)
        return report_of(keys, row) if row else None

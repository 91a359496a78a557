"""Erasures in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.erasing import Erased
from libs.data.pages import Position
from libs.data.postgres import Database, Row
from services.gateway.access.erasures import Erasure, ErasureNotFound, Receipt
from services.gateway.access.profiles import ProfileNotFound

PACKAGE = "services.gateway.access"
QUERIES = "erasures.sql"


class ErasureStore:
    """What is kept of erasures: ids, times and counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = sql.load(PACKAGE, QUERIES)

    async def begin(self, profile_id: UUID, now: datetime) -> Erasure:
        """Make a profile unreachable and have it erased, or find that erasure. Raises ``ProfileNotFound``."""
        rows = await self._database.fetch(self._queries.erase_profile, profile_id, now)
        if not rows:
            raise ProfileNotFound
        return (await self._with_receipts(rows))[0]

    async def find(self, profile_id: UUID) -> Erasure:
        """An erasure. Raises ``ErasureNotFound``."""
        rows = await self._database.fetch(self._queries.erasure, profile_id)
        if not rows:
            raise ErasureNotFound
        return (await self._with_receipts(rows))[0]

    async def newest(self, after: Position | None, limit: int) -> list[Erasure]:
        """Erasures, the newest first."""
        rows = await self._database.fetch(self._queries.erasures, *(after or (None, None)), limit)
        return await self._with_receipts(rows)

    async def claim(self, lease: timedelta, now: datetime) -> Erasure | None:
        """Take an erasure that can go on; no other worker gets it until the lease is over."""
        rows = await self._database.fetch(self._queries.claim_erasure, now, now + lease)
        return (await self._with_receipts(rows))[0] if rows else None

    async def note(
        self, profile_id: UUID, service: str, turn: int, erased: Erased, lease: timedelta, now: datetime
    ) -> None:
        """Add to a service's receipt, and renew the lease. ``turn`` is which time it is being emptied."""
        counts = erased.rows, erased.keys, erased.remaining
        await self._database.execute(
            self._queries.keep_receipt, profile_id, service, turn, *counts, now, now + lease
        )

    async def postpone(self, profile_id: UUID, next_at: datetime, *, failed: bool) -> None:
        """Let go of an erasure until a time. Failures in a row are counted."""
        await self._database.execute(self._queries.postpone_erasure, profile_id, next_at, failed)

    async def finish(self, profile_id: UUID, now: datetime) -> None:
        """Delete the profile itself, with its keys and whatever is left without a profile."""
        await self._database.execute(self._queries.finish_erasure, profile_id, now)

    async def _with_receipts(self, rows: Sequence[Row]) -> list[Erasure]:
        ids = [row["profile"] for row in rows]
        found = await self._database.fetch(self._queries.receipts, ids)
        receipts: dict[UUID, dict[str, Receipt]] = {}
        for profile, *values in found:
            receipt = Receipt(*values)
            receipts.setdefault(profile, {})[receipt.service] = receipt
        return [
            Erasure(
                row["profile"],
                row["requested_at"],
                row["completed_at"],
                row["failures"],
                receipts.get(row["profile"], {}),
            )
            for row in rows
        ]

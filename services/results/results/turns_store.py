"""Turns of conversations in Postgres. Each call is one round trip and one commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from services.results.results import rows, verdicts
from services.results.results.turns import Turn, TurnDraft
from services.results.runs.drafts import begun
from services.results.runs.quota import Quota
from services.results.runs.rows import blind_workflow, item_of

PACKAGE = "services.results.results"


class TurnStore:
    """What is kept of conversations, by profile."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        ttl: timedelta,
        known: timedelta,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        """``ttl`` is that of runs that a turn begins; an expired run is ``known`` for so long."""
        self._database = database
        self._keyring = keyring
        self._ttl = ttl
        self._known = known
        self._new_id = new_id
        self._queries = sql.load(PACKAGE)

    async def append(
        self, profile: UUID, workflow_id: str, draft: TurnDraft, quota: Quota, now: datetime
    ) -> tuple[UUID, Turn]:
        """Append a turn; answers the run's id with it.

        Raises ``TurnConflict``, ``TurnOutOfOrder``, ``RunCancelled``, ``QuotaExceeded``.
        """
        keys = await self._keyring.of(profile)
        run = item_of(keys, begun(self._new_id(), workflow_id, self._ttl))
        item = rows.turn_item(keys, draft, self._new_id())
        [row] = await self._database.fetch(self._queries.append_turn, profile, run, item, quota.limits, now)
        kept = verdicts.appended(row, quota)
        return kept["run_id"], Turn(kept["number"], draft.role, draft.content, kept["created_at"])

    async def after(
        self, profile: UUID, workflow_id: str, number: int, limit: int, bytes_max: int, now: datetime
    ) -> list[Turn]:
        """Turns after a number, in order, with at most so many bytes before the last.

        Raises ``ResultExpired``, ``ResultUnknown``.
        """
        keys = await self._keyring.of(profile)
        workflow = blind_workflow(keys, workflow_id)
        found = await self._database.fetch(
            self._queries.turns, profile, workflow, number, limit, bytes_max, self._known, now
        )
        verdicts.read(found[0])
        return [rows.turn_of(keys, row) for row in found if row["id"]]

"""Sessions and their Z-reports in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Connection, Database, Row
from libs.errors import Unavailable
from services.memory.memories.drafts import Batch
from services.memory.memories.rows import blind_id, item_of
from services.memory.sessions import rows
from services.memory.sessions.reports import Noted, Told, Totals, ZReport, ZReportNotReady
from services.memory.sessions.session import Session, SessionNotFound, SessionState

PACKAGE = "services.memory.sessions"
NOTES_MAX = 500
"""Memories that a report reads; of a longer session the latest."""

CLAIMED = timedelta(minutes=5)
"""How long a session that the chore took is its own."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A report's words."""

    told: Told
    tokens: int
    """Of the summary."""
    memory: Batch | None = None
    """The one memory that it is promoted to."""


Compose = Callable[[UUID, Sequence[Noted], Totals], Awaitable[Composed]]
"""Tells the observations of a profile's session."""
After = tuple[datetime, UUID] | None
"""The time and id of the last one that was shown."""


class SessionStore:
    """What is kept of sessions, by profile."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def start(self, profile: UUID, session_id: UUID, name: str, agent: str, now: datetime) -> Session:
        """The open session of this name: the one that is there, or a new one with this id."""
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(
            self._queries.start_session,
            profile,
            session_id,
            blind_id(keys, "session", name),
            rows.seal_session(keys, "name", session_id, name),
            blind_id(keys, "agent", agent) if agent else None,
            rows.seal_session(keys, "agent", session_id, agent) if agent else None,
            now,
        )
        if row is None:
            raise Unavailable("This session is being started and ended at the same moment. Please try again.")
        return rows.session_of(keys, row)

    async def end(
        self, profile: UUID, session_id: UUID, compose: Compose, memories_max: int, now: datetime
    ) -> tuple[ZReport, Session]:
        """End a session with a report, or answer the report that it has. Raises ``SessionNotFound``.

        However many do so at once, and whoever is killed at it: one report is kept, and all answer that.
        A profile that holds ``memories_max`` memories gets the report, and no memory of it.
        """
        ended = await self._close(profile, session_id, now, None)
        if ended is None:
            raise SessionNotFound
        await self._report(profile, ended, compose, memories_max)
        return await self.report(profile, session_id), await self.get(profile, session_id)

    async def end_idle(
        self,
        profile: UUID,
        session_id: UUID,
        compose: Compose,
        memories_max: int,
        idle_before: datetime,
        now: datetime,
    ) -> None:
        """The same for a session that was last used before a time; one that was used since stays open."""
        ended = await self._close(profile, session_id, now, idle_before)
        if ended is not None:
            await self._report(profile, ended, compose, memories_max)

    async def claim_idle(self, limit: int, idle_before: datetime, now: datetime) -> list[tuple[UUID, UUID]]:
        """Some sessions, by profile and id, that nobody uses any more or whose report was never written."""
        found = await self._database.fetch(self._queries.claim_idle, limit, idle_before, now, CLAIMED)
        return [(row["profile_id"], row["session_id"]) for row in found]

    async def _close(
        self, profile: UUID, session_id: UUID, now: datetime, idle_before: datetime | None
    ) -> Row | None:
        """The session's row, ended; ``None`` if there is none, or it was used since."""
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.lock_session, profile, session_id)
            if row is None or row["state"] == SessionState.ENDED:
                return row
            return await connection.fetchrow(self._queries.end_session, profile, session_id, now, idle_before)

    async def _report(self, profile: UUID, ended: Row, compose: Compose, memories_max: int) -> None:
        """Write an ended session's report, unless it has one."""
        if ended["reported"]:
            return
        keys = await self._keyring.of(profile)
        session_id: UUID = ended["id"]
        async with self._database.as_profile(profile) as connection:
            notes, totals = await self._read(connection, profile, session_id)
        composed = await compose(profile, [rows.noted_of(keys, note) for note in notes], totals)
        report = ZReport(session_id, ended["ended_at"], composed.told, totals, composed.tokens)
        batch = composed.memory
        item = None
        if batch is not None:
            [draft], [vector] = batch.drafts, batch.vectors
            item = item_of(keys, session_id, draft, vector)
        await self._database.fetchval(
            self._queries.keep_report,
            profile,
            session_id,
            rows.seal_report(keys, report),
            totals.successes,
            totals.failures,
            item,
            batch.model if batch else None,
            batch.preferred_model if batch else None,
            memories_max,
            report.created_at,
        )

    async def get(self, profile: UUID, session_id: UUID) -> Session:
        """A session. Raises ``SessionNotFound``."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.session, profile, session_id)
        if row is None:
            raise SessionNotFound
        return rows.session_of(keys, row)

    async def newest(
        self, profile: UUID, state: SessionState | None, agent: str, limit: int, after: After
    ) -> list[Session]:
        """Sessions, the newest first; in any state and of any agent where none is named."""
        keys = await self._keyring.of(profile)
        started_at, last_id = after or (None, None)
        async with self._database.as_profile(profile) as connection:
            if agent:
                found = await connection.fetch(
                    self._queries.sessions_of_agent,
                    profile,
                    state,
                    started_at,
                    last_id,
                    limit,
                    blind_id(keys, "agent", agent),
                )
            else:
                found = await connection.fetch(
                    self._queries.sessions, profile, state, started_at, last_id, limit
                )
        return [rows.session_of(keys, row) for row in found]

    async def report(self, profile: UUID, session_id: UUID) -> ZReport:
        """A session's report. Raises ``SessionNotFound`` or, while it is open, ``ZReportNotReady``."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.report, profile, session_id)
            if row is None:
                session = await connection.fetchrow(self._queries.session, profile, session_id)
                raise ZReportNotReady if session else SessionNotFound
        return rows.report_of(keys, row)

    async def reports(self, profile: UUID, limit: int, after: After) -> list[ZReport]:
        """Reports, the newest first."""
        keys = await self._keyring.of(profile)
        created_at, last_id = after or (None, None)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.reports, profile, created_at, last_id, limit)
        return [rows.report_of(keys, row) for row in found]

    async def _read(
        self, connection: Connection, profile: UUID, session_id: UUID
    ) -> tuple[list[Row], Totals]:
        """The session's memories in their order, and its totals."""
        [counts] = await connection.fetch(self._queries.session_totals, profile, session_id)
        notes = await connection.fetch(self._queries.session_notes, profile, session_id, NOTES_MAX)
        totals = Totals(counts["observations"], counts["successes"], counts["failures"])
        return notes[::-1], totals

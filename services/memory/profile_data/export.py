"""Everything of a memory that its owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from libs.data.walking import Place, Walk
from services.memory.memories.memory import Memory
from services.memory.memories.store import Store
from services.memory.sessions.reports import ZReport
from services.memory.sessions.session import Session
from services.memory.sessions.store import SessionStore


class Export:
    """Reads memories whole."""

    def __init__(self, store: Store, sessions: SessionStore) -> None:
        self._store = store
        self._sessions = sessions

    def of(self, profile: UUID) -> Sequence[Walk[Any]]:
        """The sessions, memories and Z-reports of a profile, each the newest first."""

        async def sessions(after: Place | None, limit: int) -> list[Session]:
            return await self._sessions.newest(profile, None, "", limit, after)

        async def memories(after: Place | None, limit: int) -> list[Memory]:
            return await self._store.newest_whole(profile, limit, after)

        async def reports(after: Place | None, limit: int) -> list[ZReport]:
            return await self._sessions.reports(profile, limit, after)

        return (
            Walk("session", sessions, lambda one: (one.started_at, one.id)),
            Walk("memory", memories, lambda one: (one.created_at, one.id)),
            Walk("z_report", reports, lambda one: (one.created_at, one.session_id)),
        )

"""Ends sessions: tells what each came to, and promotes the report of one that went well."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import structlog

from libs.clock import Clock
from libs.errors import Unavailable
from libs.language.model import Language
from libs.language.tokens import TokenCounter
from services.memory.memories.observations import Raw
from services.memory.memories.observe import Observer
from services.memory.memories.rings import Outcome, Type, may_promote
from services.memory.sessions.reports import Noted, Totals, ZReport, summarise, with_summary
from services.memory.sessions.session import Session
from services.memory.sessions.store import Composed, SessionStore
from services.memory.sessions.writing import ANSWER_TOKENS_MAX, TASK, checked, material

IDLE_BATCH = 20
"""Sessions that one turn of the loop closes."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Reporter:
    """Writes Z-reports, with a language model where there is one."""

    def __init__(
        self,
        sessions: SessionStore,
        observer: Observer,
        counter: TokenCounter,
        language: Language | None,
        clock: Clock,
        memories_max: int,
    ) -> None:
        """``memories_max`` of a profile whose session ends without a caller."""
        self._sessions = sessions
        self._observer = observer
        self._counter = counter
        self._language = language
        self._clock = clock
        self._memories_max = memories_max

    async def end(self, profile: UUID, session_id: UUID, memories_max: int) -> tuple[ZReport, Session]:
        """End a session of a profile that may hold so many memories. Raises ``SessionNotFound``."""
        return await self._sessions.end(profile, session_id, self.compose, memories_max, self._clock())

    async def end_idle(self, idle: timedelta) -> int:
        """End some sessions that nobody used for so long. Any number of replicas may do this at once."""
        now = self._clock()
        claimed = await self._sessions.claim_idle(IDLE_BATCH, now - idle, now)
        for profile, session_id in claimed:
            await self._sessions.end_idle(
                profile, session_id, self.compose, self._memories_max, now - idle, self._clock()
            )
        if claimed:
            log.info("sessions.closed", claimed=len(claimed))
        return len(claimed)

    async def compose(self, profile: UUID, notes: Sequence[Noted], totals: Totals) -> Composed:
        """Tell a session. What went well becomes a memory, too."""
        told = summarise(notes, totals)
        if notes and self._language is not None:
            told = with_summary(told, await self._written(self._language, notes, totals))
        memory = None
        if may_promote(totals.successes, totals.failures):
            raw = Raw(f"Z-report: {told.summary}", Type.INSIGHT, Outcome.SUCCESS)
            memory = await self._observer.understand(profile, [("", raw)])
        return Composed(told, self._counter.count(told.summary), memory)

    async def _written(self, language: Language, notes: Sequence[Noted], totals: Totals) -> str | None:
        """A language model's summary, if it is there and keeps to what it was shown."""
        shown = material(notes, totals)
        try:
            summary = checked(await language.ask(TASK, shown, ANSWER_TOKENS_MAX), shown)
        except Unavailable:
            return None
        if summary is None:
            log.info("report.answer_refused")
        return summary

"""Brief: what is found for a topic, ring by ring, and the last report of the sessions it was about."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from libs.language.names import clean_text
from libs.language.tokens import TokenCounter
from services.memory.brief.briefing import Brief, Entry, assemble
from services.memory.brief.store import BriefStore
from services.memory.memories.rings import Outcome, Ring
from services.memory.search.find import Finder
from services.memory.search.layers import Found, Hit
from services.memory.search.query import QUERY_CHARS_MAX, Filters, Query
from services.memory.sessions.reports import ZReport

ORDER = (Ring.SHOCK, Ring.PROCEDURE, Ring.PRACTICE, Ring.LONG_TERM)
OF_A_RING_MAX = 15
RELEVANT_MIN = 0.15
"""The score from which on a memory is about a topic. A brief would rather say too much than miss a shock."""
NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""Seen from here nothing is recent, so that the order of a brief does not change as time passes."""


class Briefer:
    """Makes briefs."""

    def __init__(self, store: BriefStore, finder: Finder, counter: TokenCounter) -> None:
        self._store = store
        self._finder = finder
        self._counter = counter

    async def brief(self, profile: UUID, topic: str, budget: int) -> tuple[Brief, bool]:
        """A brief on a topic, or on what was observed most; and whether it was searched by words only."""
        degraded = False
        if topic.strip():
            hits, sessions, degraded = await self._about(profile, clean_text("topic", topic, QUERY_CHARS_MAX))
            report = await self._store.last_report(profile, sessions)
        else:
            hits = await self._store.reinforced(profile, OF_A_RING_MAX)
            report = await self._store.last_report(profile, None)
        return assemble(_entries(hits, report), budget, self._counter.count, self._counter.cut), degraded

    async def _about(self, profile: UUID, topic: str) -> tuple[list[Hit], Sequence[UUID], bool]:
        """What is about a topic in each ring, and the sessions of all that is."""
        searches = [(ring,) for ring in ORDER]
        found = await asyncio.gather(*(self._found(profile, topic, rings) for rings in (*searches, ())))
        hits = [hit for one in found[:-1] for hit in one.hits if _relevant(hit)]
        sessions = [hit.session_id for hit in found[-1].hits if _relevant(hit)]
        return hits, sessions, any(one.degraded for one in found)

    async def _found(self, profile: UUID, topic: str, rings: tuple[Ring, ...]) -> Found:
        query = Query(topic, OF_A_RING_MAX, Filters(rings=rings))
        return await self._finder.find(profile, query, at=NO_TIME)


def _relevant(hit: Hit) -> bool:
    """A shock that a search puts first is about the topic, whatever its score."""
    return hit.ahead or hit.score >= RELEVANT_MIN


def _entries(hits: Sequence[Hit], report: ZReport | None) -> list[Entry]:
    """Ring by ring, then the report; and nothing twice, where the report is one of the memories."""
    told = report.memory_id if report else None
    is_shock = any(hit.ring is Ring.SHOCK and hit.memory_id == told for hit in hits)
    shown = [hit for hit in hits if is_shock or hit.memory_id != told]
    entries = [_entry(hit) for ring in ORDER for hit in shown if hit.ring is ring]
    return entries if report is None or is_shock else [*entries, _report_entry(report)]


def _entry(hit: Hit) -> Entry:
    told = hit.outcome in (Outcome.SUCCESS, Outcome.FAILURE)
    about = f"{hit.type.name.lower()}{f' {hit.outcome.name.lower()}' if told else ''}"
    return Entry(
        hit.ring.name.lower(), hit.memory_id, hit.occurred_at.date(), about, hit.summary, hit.essence
    )


def _report_entry(report: ZReport) -> Entry:
    summary = report.told.summary
    return Entry("z_report", report.session_id, report.created_at.date(), "session", summary, summary)

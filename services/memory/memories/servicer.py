"""MemoryService: unwrap, call, wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import grpc
from treering.memory.v1 import memory_service_pb2 as pb

from libs.language.names import clean_name
from libs.messages import fitting, to_id
from libs.rpc.caller import caller
from services.memory.brief.brief import Briefer
from services.memory.brief.wire import of_brief, to_budget
from services.memory.memories import wire
from services.memory.memories.keeping import Keeping
from services.memory.memories.memory import Kept, Memory, MemoryNotFound
from services.memory.memories.observations import NAME_CHARS_MAX, Raw, optional_name
from services.memory.memories.observe import Observer
from services.memory.memories.rings import Ring
from services.memory.memories.store import Store
from services.memory.memories.touches import Touches
from services.memory.repetition.store import RepetitionStore
from services.memory.rings.changes import Changes
from services.memory.rings.servicer import RingsServicer
from services.memory.rings.store import RingStore
from services.memory.search.find import Finder
from services.memory.search.query import clean_query
from services.memory.sessions.reporter import Reporter
from services.memory.sessions.session import SessionState
from services.memory.sessions.store import SessionStore
from services.memory.sessions.wire import of_report, of_session

NEIGHBORS = 2
"""On each side, where the request does not say."""

Context = grpc.aio.ServicerContext[Any, Any]


class MemoryServicer(RingsServicer):
    """What an agent observes, and how it finds it again."""

    def __init__(
        self,
        store: Store,
        sessions: SessionStore,
        reporter: Reporter,
        rings: RingStore,
        changes: Changes,
        repetition: RepetitionStore,
        observer: Observer,
        finder: Finder,
        briefer: Briefer,
        touches: Touches,
        keeping: Keeping,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        super().__init__(rings, changes, repetition, keeping)
        self._store = store
        self._sessions = sessions
        self._reporter = reporter
        self._observer = observer
        self._finder = finder
        self._briefer = briefer
        self._touches = touches
        self._new_id = new_id

    async def StartSession(
        self, request: pb.StartSessionRequest, context: Context
    ) -> pb.StartSessionResponse:
        """Start a session, or find the open one of this name."""
        name = clean_name("content_session_id", request.content_session_id, NAME_CHARS_MAX)
        agent = optional_name("agent_id", request.agent_id)
        session = await self._sessions.start(
            caller().profile, self._new_id(), name, agent, self._keeping.clock()
        )
        return pb.StartSessionResponse(session=of_session(session))

    async def EndSession(self, request: pb.EndSessionRequest, context: Context) -> pb.EndSessionResponse:
        """End a session and tell what it came to."""
        session_id = to_id("session_id", request.session_id)
        report, session = await self._reporter.end(caller().profile, session_id, self._keeping.allowed())
        return pb.EndSessionResponse(z_report=of_report(report), session=of_session(session))

    async def GetSession(self, request: pb.GetSessionRequest, context: Context) -> pb.GetSessionResponse:
        """Read a session."""
        session = await self._sessions.get(caller().profile, to_id("session_id", request.session_id))
        return pb.GetSessionResponse(session=of_session(session))

    async def ListSessions(
        self, request: pb.ListSessionsRequest, context: Context
    ) -> pb.ListSessionsResponse:
        """List sessions, the newest first."""
        page = self._keeping.lists.page(caller().profile, "ListSessions", request)
        state = SessionState(request.state) if request.state else None
        agent = optional_name("agent_id", request.agent_id)
        found = await self._sessions.newest(page.profile, state, agent, page.limit, page.after)
        shown, token = self._keeping.lists.cut(
            page, found, of_session, lambda last: (last.started_at, last.id)
        )
        return pb.ListSessionsResponse(sessions=shown, next_page_token=token)

    async def Observe(self, request: pb.ObserveRequest, context: Context) -> pb.ObserveResponse:
        """Remember something that happened."""
        [kept] = await self._observe(request.session_id, [("", wire.to_raw(request))])
        return pb.ObserveResponse(memory=wire.of_memory(kept.memory, whole=True), reinforced=kept.reinforced)

    async def ObserveBatch(
        self, request: pb.ObserveBatchRequest, context: Context
    ) -> pb.ObserveBatchResponse:
        """Remember several things, all or none."""
        paths = [f"observations[{at}]." for at in range(len(request.observations))]
        raws = [wire.to_raw(message, path) for message, path in zip(request.observations, paths, strict=True)]
        kept = await self._observe(request.session_id, list(zip(paths, raws, strict=True)))
        return wire.of_batch(kept)

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        """Find memories by meaning and by words."""
        profile = caller().profile
        found = await self._finder.find(profile, clean_query(wire.to_query(request)))
        self._touches.note(profile, [hit.memory_id for hit in found.hits])
        return wire.of_found(found)

    async def Brief(self, request: pb.BriefRequest, context: Context) -> pb.BriefResponse:
        """Tell what is worth reading before work begins."""
        profile = caller().profile
        brief, degraded = await self._briefer.brief(profile, request.topic, to_budget(request))
        self._touches.note(profile, brief.entries)
        return of_brief(brief, degraded)

    async def Timeline(self, request: pb.TimelineRequest, context: Context) -> pb.TimelineResponse:
        """Show memories in time."""
        ids = wire.to_ids("memory_ids", request.memory_ids)
        neighbors = request.neighbors if request.HasField("neighbors") else NEIGHBORS
        return wire.of_timeline(*await self._store.timeline(caller().profile, ids, neighbors))

    async def GetMemories(self, request: pb.GetMemoriesRequest, context: Context) -> pb.GetMemoriesResponse:
        """Read chosen memories in full."""
        ids = wire.to_ids("memory_ids", request.memory_ids)
        found = await self._read(ids)
        memories = [wire.of_memory(found[one], whole=True) for one in ids if one in found]
        here = fitting(memories)
        return pb.GetMemoriesResponse(
            memories=memories[:here],
            missing_ids=[str(one) for one in ids if one not in found],
            remaining_ids=[memory.id for memory in memories[here:]],
        )

    async def GetMemory(self, request: pb.GetMemoryRequest, context: Context) -> pb.GetMemoryResponse:
        """Read one memory in full."""
        memory_id = to_id("memory_id", request.memory_id)
        found = await self._read([memory_id])
        if memory_id not in found:
            raise MemoryNotFound
        return pb.GetMemoryResponse(memory=wire.of_memory(found[memory_id], whole=True))

    async def ListMemories(
        self, request: pb.ListMemoriesRequest, context: Context
    ) -> pb.ListMemoriesResponse:
        """List memories, the newest first."""
        page = self._keeping.lists.page(caller().profile, "ListMemories", request)
        rings = [Ring(ring) for ring in request.rings]
        if request.session_id:
            session_id = to_id("session_id", request.session_id)
            before = page.after[0] if page.after else None
            found = await self._store.newest_in_session(page.profile, session_id, rings, page.limit, before)
            shown, token = self._keeping.lists.cut(
                page, found, wire.of_outline, lambda last: (last.position,)
            )
        else:
            found = await self._store.newest(page.profile, rings, page.limit, page.after)
            shown, token = self._keeping.lists.cut(
                page, found, wire.of_outline, lambda last: (last.created_at, last.id)
            )
        return pb.ListMemoriesResponse(memories=shown, next_page_token=token)

    async def GetStats(self, request: pb.GetStatsRequest, context: Context) -> pb.GetStatsResponse:
        """Count what is remembered."""
        return wire.of_stats(await self._store.stats(caller().profile), self._keeping.allowed())

    async def ListZReports(
        self, request: pb.ListZReportsRequest, context: Context
    ) -> pb.ListZReportsResponse:
        """List Z-reports, the newest first."""
        page = self._keeping.lists.page(caller().profile, "ListZReports", request)
        found = await self._sessions.reports(page.profile, page.limit, page.after)
        shown, token = self._keeping.lists.cut(
            page, found, of_report, lambda last: (last.created_at, last.session_id)
        )
        return pb.ListZReportsResponse(z_reports=shown, next_page_token=token)

    async def GetZReport(self, request: pb.GetZReportRequest, context: Context) -> pb.GetZReportResponse:
        """Read a session's Z-report."""
        report = await self._sessions.report(caller().profile, to_id("session_id", request.session_id))
        return pb.GetZReportResponse(z_report=of_report(report))

    async def _observe(self, session_id: str, raws: Sequence[tuple[str, Raw]]) -> list[Kept]:
        who = caller()
        return await self._observer.observe(
            who.workspace,
            who.profile,
            to_id("session_id", session_id),
            who.source,
            raws,
            self._keeping.allowed(),
            self._keeping.clock(),
        )

    async def _read(self, ids: Sequence[UUID]) -> dict[UUID, Memory]:
        """Memories in full, counted as read."""
        profile = caller().profile
        found = await self._store.get(profile, ids)
        self._touches.note(profile, found)
        return found

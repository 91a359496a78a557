"""The calls of MemoryService that change memories: unwrap, call, wrap."""

from __future__ import annotations

from typing import Any

import grpc
from treering.memory.v1 import memory_service_pb2 as pb
from treering.memory.v1 import memory_service_pb2_grpc as rpc

from libs.messages import of_time, to_id
from libs.rpc.caller import caller
from services.memory.memories.keeping import Keeping
from services.memory.memories.observations import optional_name
from services.memory.memories.rings import Outcome, Ring
from services.memory.memories.wire import of_memory, of_outline
from services.memory.repetition.store import RepetitionStore
from services.memory.repetition.wire import of_conflict
from services.memory.rings.changes import Changes
from services.memory.rings.revisions import clean_rewrite
from services.memory.rings.standing import Wish, clean_wish
from services.memory.rings.store import RingStore
from services.memory.rings.wire import of_revision, to_rewrite

Context = grpc.aio.ServicerContext[Any, Any]


class RingsServicer(rpc.MemoryServiceServicer):
    """Moves, revises, supersedes, deletes and brings back memories."""

    def __init__(
        self, rings: RingStore, changes: Changes, repetition: RepetitionStore, keeping: Keeping
    ) -> None:
        self._rings = rings
        self._changes = changes
        self._repetition = repetition
        self._keeping = keeping

    async def DeleteMemory(
        self, request: pb.DeleteMemoryRequest, context: Context
    ) -> pb.DeleteMemoryResponse:
        """Forget one memory."""
        memory_id = to_id("memory_id", request.memory_id)
        purge_at = self._keeping.clock() + self._keeping.undo if self._keeping.undo else None
        await self._rings.delete(caller().profile, memory_id, purge_at)
        return pb.DeleteMemoryResponse(purge_at=of_time(purge_at) if purge_at else None)

    async def UndeleteMemory(
        self, request: pb.UndeleteMemoryRequest, context: Context
    ) -> pb.UndeleteMemoryResponse:
        """Bring back a memory that was deleted."""
        memory_id = to_id("memory_id", request.memory_id)
        memory = await self._rings.restore(
            caller().profile, memory_id, self._keeping.allowed(), self._keeping.clock()
        )
        return pb.UndeleteMemoryResponse(memory=of_memory(memory, whole=True))

    async def Reinforce(self, request: pb.ReinforceRequest, context: Context) -> pb.ReinforceResponse:
        """Record whether a memory helped."""
        key = optional_name("idempotency_key", request.idempotency_key)
        memory = await self._rings.reinforce(
            caller().profile,
            to_id("memory_id", request.memory_id),
            Outcome(request.outcome),
            key,
            self._keeping.clock(),
        )
        return pb.ReinforceResponse(memory=of_memory(memory, whole=True))

    async def Promote(self, request: pb.PromoteRequest, context: Context) -> pb.PromoteResponse:
        """Put a memory into another ring."""
        memory_id = to_id("memory_id", request.memory_id)
        wish = clean_wish(Wish(memory_id, Ring(request.ring), request.reason, request.demote_shock))
        memory = await self._rings.promote(caller().profile, wish, self._keeping.clock())
        return pb.PromoteResponse(memory=of_memory(memory, whole=True))

    async def Revise(self, request: pb.ReviseRequest, context: Context) -> pb.ReviseResponse:
        """Give a memory a new version of its content."""
        memory_id = to_id("memory_id", request.memory_id)
        rewrite = clean_rewrite(to_rewrite(request))
        memory = await self._changes.revise(caller().profile, memory_id, rewrite, self._keeping.clock())
        return pb.ReviseResponse(memory=of_memory(memory, whole=True))

    async def ListVersions(
        self, request: pb.ListVersionsRequest, context: Context
    ) -> pb.ListVersionsResponse:
        """List what a memory says and said, the newest first."""
        memory_id = to_id("memory_id", request.memory_id)
        page = self._keeping.lists.page(caller().profile, "ListVersions", request)
        before = page.after[0] if page.after else None
        found = await self._rings.versions(page.profile, memory_id, page.limit, before)
        shown, token = self._keeping.lists.cut(page, found, of_revision, lambda last: (last.number,))
        return pb.ListVersionsResponse(versions=shown, next_page_token=token)

    async def Supersede(self, request: pb.SupersedeRequest, context: Context) -> pb.SupersedeResponse:
        """Close a memory with a newer one."""
        who, memory_id = caller(), to_id("memory_id", request.memory_id)
        older, newer = await self._changes.supersede(
            who.workspace,
            who.profile,
            memory_id,
            request.content,
            who.source,
            self._keeping.allowed(),
            self._keeping.clock(),
        )
        return pb.SupersedeResponse(memory=of_memory(newer, whole=True), superseded=of_outline(older))

    async def ListConflicts(
        self, request: pb.ListConflictsRequest, context: Context
    ) -> pb.ListConflictsResponse:
        """List pairs that may contradict each other, the newest first."""
        page = self._keeping.lists.page(caller().profile, "ListConflicts", request)
        found = await self._repetition.conflicts(page.profile, page.limit, page.after)
        shown, token = self._keeping.lists.cut(
            page, found, of_conflict, lambda last: (last.found_at, last.newer.id, last.older.id)
        )
        return pb.ListConflictsResponse(conflicts=shown, next_page_token=token)

    async def DismissConflict(
        self, request: pb.DismissConflictRequest, context: Context
    ) -> pb.DismissConflictResponse:
        """Report a pair no more."""
        one, other = to_id("memory_id", request.memory_id), to_id("other_memory_id", request.other_memory_id)
        await self._repetition.dismiss(caller().profile, one, other)
        return pb.DismissConflictResponse()

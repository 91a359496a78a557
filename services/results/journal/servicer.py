"""JournalService: unwrap, call, wrap."""

from __future__ import annotations

from typing import Any

import grpc
from treering.results.v1 import journal_service_pb2 as pb
from treering.results.v1 import journal_service_pb2_grpc as rpc

from libs.messages import to_id
from libs.rpc.caller import caller
from services.results.journal import wire
from services.results.journal.store import JournalStore

Context = grpc.aio.ServicerContext[Any, Any]


class JournalServicer(rpc.JournalServiceServicer):
    """Searches and reads the journal."""

    def __init__(self, store: JournalStore) -> None:
        self._store = store

    async def SearchRuns(self, request: pb.SearchRunsRequest, context: Context) -> pb.SearchRunsResponse:
        """Find finished runs."""
        hits = await self._store.search(caller().profile, wire.to_look(request))
        return pb.SearchRunsResponse(hits=map(wire.of_hit, hits))

    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> pb.GetRunResponse:
        """Read what a run came to."""
        episode = await self._store.read(caller().profile, to_id("run_id", request.run_id))
        return pb.GetRunResponse(episode=wire.of_episode(episode))

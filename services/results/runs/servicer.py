"""RunService: unwrap, call, wrap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import grpc
from treering.results.v1 import run_service_pb2 as pb
from treering.results.v1 import run_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.messages import to_id
from libs.rpc.caller import caller
from libs.rpc.lists import Lists
from services.results.runs import wire
from services.results.runs.drafts import finishing, warnings
from services.results.runs.quota import Quota
from services.results.runs.run import Status
from services.results.runs.store import RunStore

Context = grpc.aio.ServicerContext[Any, Any]


class RunServicer(rpc.RunServiceServicer):
    """Begins and ends runs."""

    def __init__(self, store: RunStore, ttl: timedelta, lists: Lists, clock: Clock, quota: Quota) -> None:
        """``ttl`` is that of runs whose start says nothing of it.

        ``quota`` holds where a profile's own does not say.
        """
        self._store = store
        self._ttl = ttl
        self._lists = lists
        self._clock = clock
        self._quota = quota

    async def StartRun(self, request: pb.StartRunRequest, context: Context) -> pb.StartRunResponse:
        """Begin a run."""
        who = caller()
        draft, quota = wire.to_draft(request, uuid4(), self._ttl), self._quota.of(who.quota)
        run = await self._store.start(who.profile, draft, quota, self._clock())
        return pb.StartRunResponse(run=wire.of_run(run), warnings=warnings(request.memory_owner, who.profile))

    async def FinishRun(self, request: pb.FinishRunRequest, context: Context) -> pb.FinishRunResponse:
        """End a run."""
        how = finishing(Status(request.status), request.outcome, request.final_task_id)
        run = await self._store.finish(caller().profile, to_id("run_id", request.run_id), how, self._clock())
        return pb.FinishRunResponse(run=wire.of_run(run))

    async def CancelRun(self, request: pb.CancelRunRequest, context: Context) -> pb.CancelRunResponse:
        """Call a run off."""
        run = await self._store.cancel(caller().profile, to_id("run_id", request.run_id), self._clock())
        return pb.CancelRunResponse(run=wire.of_run(run))

    async def GetRunStatus(
        self, request: pb.GetRunStatusRequest, context: Context
    ) -> pb.GetRunStatusResponse:
        """Read where a run stands."""
        standing = await self._store.status(caller().profile, to_id("run_id", request.run_id), self._clock())
        return wire.of_standing(standing)

    async def ListRuns(self, request: pb.ListRunsRequest, context: Context) -> pb.ListRunsResponse:
        """List runs, the newest first."""
        profile = caller().profile
        page = self._lists.page(profile, "ListRuns", request)
        kind, state = wire.to_kind(request.kind), wire.to_state(request.state)
        found = await self._store.newest(profile, kind, state, page.limit, page.after, self._clock())
        shown, token = self._lists.cut(page, found, wire.of_run, lambda last: (last.created_at, last.id))
        return pb.ListRunsResponse(runs=shown, next_page_token=token)

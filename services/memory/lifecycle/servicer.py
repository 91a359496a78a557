"""LifecycleService: unwrap, call, wrap."""

from __future__ import annotations

from typing import Any

import grpc
from treering.memory.v1 import lifecycle_service_pb2 as pb
from treering.memory.v1 import lifecycle_service_pb2_grpc as rpc

from libs.messages import to_id, to_time
from libs.rpc.caller import NOBODY
from services.memory.lifecycle import wire
from services.memory.lifecycle.restage import Restager
from services.memory.lifecycle.store import LifecycleStore

Context = grpc.aio.ServicerContext[Any, Any]


class LifecycleServicer(rpc.LifecycleServiceServicer):
    """How memories age, for the decay service."""

    def __init__(self, store: LifecycleStore, restager: Restager) -> None:
        self._store = store
        self._restager = restager

    async def ListWorkspaces(
        self, request: pb.ListWorkspacesRequest, context: Context
    ) -> pb.ListWorkspacesResponse:
        """List workspaces with memories that can age."""
        after = to_id("after", request.after) if request.after else NOBODY
        found = await self._store.workspaces(after, request.limit)
        return pb.ListWorkspacesResponse(workspace_ids=[str(each) for each in found])

    async def ListDue(self, request: pb.ListDueRequest, context: Context) -> pb.ListDueResponse:
        """Take some memories that are due."""
        waits = wire.to_waits(request.rules)
        profile = to_id("profile_id", request.profile_id) if request.profile_id else None
        as_of = to_time("as_of", request.as_of) if request.HasField("as_of") else None
        return wire.of_taken(await self._store.take_due(waits, profile, request.limit, as_of))

    async def Restage(self, request: pb.RestageRequest, context: Context) -> pb.RestageResponse:
        """Move leased memories to their next stages."""
        steps = [wire.to_step(step) for step in request.steps]
        restaged = await self._restager.restage(request.token, steps)
        return pb.RestageResponse(restaged=[wire.of_restaged(each) for each in restaged])

    async def ListAges(self, request: pb.ListAgesRequest, context: Context) -> pb.ListAgesResponse:
        """Read how old memories are."""
        profile = to_id("profile_id", request.profile_id)
        memory_id = to_id("memory_id", request.memory_id) if request.memory_id else None
        after = to_id("after", request.after) if request.after else NOBODY
        return wire.of_ages(*await self._store.ages(profile, memory_id, after, request.limit))

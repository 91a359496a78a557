"""DecayService: unwrap, call, wrap."""

from __future__ import annotations

from typing import Any

import grpc
from treering.decay.v1 import decay_service_pb2 as pb
from treering.decay.v1 import decay_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.data.pages import Pages
from libs.messages import to_id, to_time
from libs.rpc.caller import caller
from libs.rpc.lists import Lists
from services.decay.ageing import wire
from services.decay.ageing.oracle import Oracle
from services.decay.ageing.policy import checked
from services.decay.ageing.store import Store
from services.decay.ageing.sweeper import Sweeper

Context = grpc.aio.ServicerContext[Any, Any]


class DecayServicer(rpc.DecayServiceServicer):
    """How memories shrink as they age."""

    def __init__(self, store: Store, sweeper: Sweeper, oracle: Oracle, pages: Pages, clock: Clock) -> None:
        self._store = store
        self._sweeper = sweeper
        self._oracle = oracle
        self._lists = Lists(pages, clock)

    async def GetPolicy(self, request: pb.GetPolicyRequest, context: Context) -> pb.GetPolicyResponse:
        """Read the workspace's policy."""
        workspace = caller().workspace
        policies = await self._store.policies([workspace])
        return pb.GetPolicyResponse(policy=wire.of_policy(policies[workspace]))

    async def SetPolicy(self, request: pb.SetPolicyRequest, context: Context) -> pb.SetPolicyResponse:
        """Set the workspace's policy."""
        policy = checked(wire.to_policy(request.policy))
        kept = await self._store.set_policy(caller().workspace, policy)
        return pb.SetPolicyResponse(policy=wire.of_policy(kept))

    async def Forecast(self, request: pb.ForecastRequest, context: Context) -> pb.ForecastResponse:
        """Tell where memories will stand."""
        who = caller()
        dates = [to_time(f"at[{number}]", at) for number, at in enumerate(request.at)]
        memory_id = to_id("memory_id", request.memory_id) if request.memory_id else None
        told = await self._oracle.forecast(who.workspace, who.profile, memory_id, dates)
        return pb.ForecastResponse(
            outlooks=[wire.of_outlook(each) for each in told.outlooks],
            passages=wire.of_passages(told.passages),
        )

    async def Sweep(self, request: pb.SweepRequest, context: Context) -> pb.SweepResponse:
        """Move what is due."""
        who = caller()
        return pb.SweepResponse(sweep=wire.of_sweep(await self._sweeper.sweep(who.workspace, who.profile)))

    async def ListSweeps(self, request: pb.ListSweepsRequest, context: Context) -> pb.ListSweepsResponse:
        """List sweeps, the newest first."""
        page = self._lists.page(caller().profile, "ListSweeps", request)
        found = await self._store.sweeps(page.profile, page.limit, page.after)
        shown, token = self._lists.cut(page, found, wire.of_sweep, lambda last: (last.started_at, last.id))
        return pb.ListSweepsResponse(sweeps=shown, next_page_token=token)

    async def GetSweep(self, request: pb.GetSweepRequest, context: Context) -> pb.GetSweepResponse:
        """Read what a sweep did."""
        sweep = await self._store.sweep(caller().profile, to_id("sweep_id", request.sweep_id))
        return pb.GetSweepResponse(sweep=wire.of_sweep(sweep))

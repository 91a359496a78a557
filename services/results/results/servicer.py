"""ResultsService: unwrap, call, wrap."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import uuid4

import grpc
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import results_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.errors import invalid
from libs.messages import MESSAGE_BYTES_MAX
from libs.rpc.caller import caller
from libs.rpc.lists import Lists
from services.results.results import wire
from services.results.results.drafts import with_content
from services.results.results.receive import receive
from services.results.results.redeem import Redeemer
from services.results.results.result import Arrival, Key
from services.results.results.store import Store
from services.results.results.streams import Incoming, Sender
from services.results.results.turns import turn_draft
from services.results.results.turns_store import TurnStore
from services.results.results.waits import arrivals, patience, ready
from services.results.runs.ids import clean_id
from services.results.runs.quota import Quota
from services.results.waiting import Waiters

Context = grpc.aio.ServicerContext[Any, Any]


class ResultsServicer(rpc.ResultsServiceServicer):
    """Keeps what tasks came to until it is redeemed."""

    def __init__(
        self, store: Store, turn_store: TurnStore, waiters: Waiters, lists: Lists, clock: Clock, quota: Quota
    ) -> None:
        """``quota`` holds where a profile's own does not say."""
        self._store = store
        self._turns = turn_store
        self._waiters = waiters
        self._lists = lists
        self._clock = clock
        self._quota = quota
        self._redeemer = Redeemer(store, turn_store, lists, clock)

    async def PutResult(self, request: pb.PutResultRequest, context: Context) -> pb.PutResultResponse:
        """Put what a task came to."""
        who = caller()
        draft, content = with_content(
            wire.to_said(request), request.content, wire.to_encoding(request), who.source
        )
        step = await self._store.put(who.profile, draft, content, self._allowed(), self._clock())
        return pb.PutResultResponse(step=wire.of_step(step))

    async def PutResultStream(
        self, request_iterator: AsyncIterator[pb.PutResultStreamRequest], context: Context
    ) -> pb.PutResultStreamResponse:
        """Put a large result in chunks."""
        who = caller()
        header = await _header(request_iterator)
        size = header.size_bytes if header.HasField("size_bytes") else None
        sender = Sender(who.profile, who.source, self._allowed())
        incoming, chunks = Incoming(header.sha256, size), _chunks(request_iterator)
        step = await receive(
            self._store, sender, wire.to_said(header), incoming, chunks, uuid4(), self._clock
        )
        return pb.PutResultStreamResponse(step=wire.of_step(step))

    async def GetResult(self, request: pb.GetResultRequest, context: Context) -> pb.GetResultResponse:
        """Read a result."""
        result = await self._redeemer.result(caller().profile, wire.to_key(request), request.part)
        return pb.GetResultResponse(result=result)

    async def WaitResult(self, request: pb.WaitResultRequest, context: Context) -> pb.WaitResultResponse:
        """Wait for a result."""
        profile, key = caller().profile, wire.to_key(request)
        seconds = _patience(wire.to_seconds(request), context)
        with self._waiters.on(profile, *await self._store.place(profile, key)) as waiter:
            result = await ready(waiter, seconds, lambda: self._redeemer.result(profile, key))
        return pb.WaitResultResponse(result=result)

    async def WatchResults(
        self, request: pb.WatchResultsRequest, context: Context
    ) -> AsyncIterator[pb.WatchResultsResponse]:
        """Read results as they arrive."""
        profile, workflow_id = caller().profile, clean_id("workflow_id", request.workflow_id)
        seconds = _patience(wire.to_seconds(request), context)

        async def read(after: int) -> Arrival:
            return await self._store.next(profile, workflow_id, after, self._clock())

        workflow, _ = await self._store.place(profile, Key(workflow_id, ""))
        with self._waiters.on(profile, workflow, None, request.after) as waiter:
            async for arrival in arrivals(waiter, request.after, seconds, read):
                yield wire.of_arrival(arrival, waiter.after or 0)

    async def GetResults(self, request: pb.GetResultsRequest, context: Context) -> pb.GetResultsResponse:
        """Read several results."""
        if request.last_only == bool(request.task_ids):
            raise invalid("task_ids", "must name tasks, unless last_only is set", "results.task_ids")
        workflow_id = clean_id("workflow_id", request.workflow_id)
        names = [clean_id(f"task_ids[{at}]", each) for at, each in enumerate(request.task_ids)]
        found = await self._store.several(caller().profile, workflow_id, names or None, self._clock())
        return pb.GetResultsResponse(
            results=[wire.of_result(each) for each in found.results],
            not_ready=found.not_ready,
            left_out=found.left_out,
        )

    async def ListSteps(self, request: pb.ListStepsRequest, context: Context) -> pb.ListStepsResponse:
        """List the steps of a run."""
        request.workflow_id = clean_id("workflow_id", request.workflow_id)
        return await self._redeemer.steps(caller().profile, request)

    async def AppendTurn(self, request: pb.AppendTurnRequest, context: Context) -> pb.AppendTurnResponse:
        """Append a turn to a conversation."""
        workflow_id = clean_id("workflow_id", request.workflow_id)
        number = request.number if request.HasField("number") else None
        draft = turn_draft(request.role, request.content, number)
        run_id, turn = await self._turns.append(
            caller().profile, workflow_id, draft, self._allowed(), self._clock()
        )
        return pb.AppendTurnResponse(turn=wire.of_turn(turn), run_id=str(run_id))

    async def ListTurns(self, request: pb.ListTurnsRequest, context: Context) -> pb.ListTurnsResponse:
        """List the turns of a conversation."""
        profile = caller().profile
        request.workflow_id = clean_id("workflow_id", request.workflow_id)
        page = self._lists.page(profile, "ListTurns", request)
        [after] = page.after or (0,)
        found = await self._turns.after(
            profile, request.workflow_id, after, page.limit, MESSAGE_BYTES_MAX, self._clock()
        )
        shown, token = self._lists.cut(page, found, wire.of_turn, lambda last: (last.number,))
        return pb.ListTurnsResponse(turns=shown, next_page_token=token)

    def _allowed(self) -> Quota:
        return self._quota.of(caller().quota)


def _patience(asked: float, context: Context) -> float:
    return patience(asked, cast(float | None, context.time_remaining()))


async def _header(requests: AsyncIterator[pb.PutResultStreamRequest]) -> pb.PutResultStreamHeader:
    first = await anext(requests, None)
    if first is None or not first.HasField("header"):
        raise invalid("header", "must be the first message", "stream.header")
    return first.header


async def _chunks(requests: AsyncIterator[pb.PutResultStreamRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.HasField("header"):
            raise invalid("header", "must be the first message only", "stream.header")
        yield request.chunk

"""Answers that stream or take long, in front of a service of the test's own: ours have none yet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

import grpc
import httpx2
import pytest
from structlog.testing import capture_logs

from libs.clock import system_clock
from libs.errors import Missing
from libs.rpc import problems, web
from libs.rpc.caller import Caller, Signer, Source
from libs.rpc.channels import Remote
from libs.rpc.methods import CALL_SECONDS, CALL_SECONDS_MAX, WAIT_SECONDS
from libs.rpc.telemetry import Settings, Telemetry
from services.gateway.http import application
from services.gateway.places import Places
from services.gateway.reach import Reach
from tests.rig.house import free_port
from tests.rig.specimen import catalog_of, message, method

FOREVER = 60
SILENT, FALLING_SILENT = "/v1/trees/99:watch", "/v1/trees/98:watch"
WAITS = '[treering.options.v1.scope]: "tree:read" [treering.options.v1.waits]: true'
CATALOG = catalog_of(
    method('get: "/v1/trees/{rings}:wait"', name="Wait", options=WAITS),
    method('get: "/v1/trees/{rings}:watch"', name="Watch", streams="server_streaming: true"),
    method('get: "/v1/trees/{rings}"', name="Grow"),
    method('get: "/v1/trees/{id}/branch" response_body: "branch"', name="Climb"),
)


class Withered(Missing):
    """The tree is gone."""

    reason = "NOT_FOUND"


@dataclass
class Trees:
    """A service that answers as the request's rings say."""

    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    remaining: float = 0
    """How many seconds the call that waits had left."""

    async def watch(self, request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
        """As many answers as there are rings; none for 0, and a problem after the third.

        99 waits before the first, 98 after it.
        """
        if request.rings == 98:
            yield message("Tree")(rings=0)
        if request.rings >= 98:
            await self.grow(request, context)
        for rings in range(request.rings):
            if rings == 3:
                await self._refuse(context)
            yield message("Tree")(rings=rings)
        if not request.rings:
            await self._refuse(context)

    async def grow(self, request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        """Wait for somebody to give up."""
        self.remaining = context.time_remaining()
        self.waiting.set()
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return request

    async def climb(self, request: Any, _: object) -> Any:
        """A tree whose branch has a leaf that is named as it is."""
        return message("Tree")(branch={"leaf": {"name": request.id}})

    @staticmethod
    async def _refuse(context: grpc.aio.ServicerContext[Any, Any]) -> None:
        told = problems.refusal(Withered(), "r")
        await context.abort(told.code, told.message, told.trailers)


@dataclass
class Site:
    """The doors in front of the trees."""

    url: str
    trees: Trees
    doors: AsyncExitStack
    """What closes them."""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A gRPC server with the trees, and the doors in front of it."""
    async with planted() as site:
        yield site


@asynccontextmanager
async def planted(drain_seconds: int = web.DRAIN_SECONDS) -> AsyncGenerator[Site]:
    """The same, for as long as the block, with doors that wait so long for what is under way."""
    async with AsyncExitStack() as stack:
        trees, telemetry = Trees(), Telemetry(Settings())
        remote = Remote(await _serve(trees, stack), Signer(_derive, system_clock), telemetry)
        stack.push_async_callback(remote.close)
        port = free_port()
        doors = application(CATALOG, Reach(lambda _: remote), _anybody, _ready, telemetry, Places(), "1")
        closes = await stack.enter_async_context(AsyncExitStack())
        await closes.enter_async_context(web.serve(doors, "127.0.0.1", port, drain_seconds=drain_seconds))
        yield Site(f"http://127.0.0.1:{port}", trees, closes)


async def test_an_answer_may_be_a_part_of_the_response(site: Site) -> None:
    """As the method's rule says."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        response = await client.get("/v1/trees/oak/branch")

    assert response.json()["leaf"]["name"] == "oak"


async def test_a_stream_is_a_series_of_events(site: Site) -> None:
    """Each answer is the data of one."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        response = await client.get("/v1/trees/3:watch", headers={"accept": "text/event-stream"})

    assert response.headers["content-type"] == "text/event-stream"
    *answers, end = events(response.text)
    assert [json.loads(data)["rings"] for _, data in answers] == [0, 1, 2]
    assert end == ("end", "{}")


async def test_a_problem_within_a_stream_is_its_last_event(site: Site) -> None:
    """What was sent before stays; the problem is a document like any other."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        response = await client.get("/v1/trees/9:watch")

    *answers, (kind, data) = events(response.text)
    assert (response.status_code, len(answers)) == (200, 3)
    assert (kind, json.loads(data)["reason"]) == ("error", "NOT_FOUND")
    assert response.headers["x-request-id"] == json.loads(data)["request_id"]


async def test_a_problem_before_a_stream_is_the_answer(site: Site) -> None:
    """With the status that it has anywhere."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        response = await client.get("/v1/trees/0:watch")

    assert (response.status_code, response.json()["reason"]) == (404, "NOT_FOUND")


async def test_a_stream_whose_client_leaves_is_cancelled(site: Site) -> None:
    """While nothing comes, too."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        listening = asyncio.create_task(client.get(SILENT))
        await asyncio.wait_for(site.trees.waiting.wait(), 5)
        listening.cancel()

    await asyncio.wait_for(site.trees.cancelled.wait(), 5)


@pytest.mark.parametrize(
    ("path", "seconds"),
    [("/v1/trees/7", CALL_SECONDS), ("/v1/trees/7:wait", WAIT_SECONDS), (SILENT, CALL_SECONDS_MAX)],
)
async def test_a_door_waits_as_long_as_the_method_may_take(site: Site, path: str, seconds: float) -> None:
    """That is the deadline which the service sees: for calls, for those that wait, and for streams."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        asking = asyncio.create_task(client.get(path))
        await asyncio.wait_for(site.trees.waiting.wait(), 5)
        asking.cancel()

    assert seconds - 5 < site.trees.remaining <= seconds


async def test_a_call_that_outlives_the_house_is_told_to_come_again() -> None:
    """By a problem like any other."""
    async with planted(drain_seconds=0) as site, httpx2.AsyncClient(base_url=site.url) as client:
        asking = asyncio.create_task(client.get("/v1/trees/7"))
        await asyncio.wait_for(site.trees.waiting.wait(), 5)
        await site.doors.aclose()
        answer = await asking

    assert (answer.status_code, answer.json()["reason"]) == (503, "UNAVAILABLE")
    assert answer.headers["retry-after"] == "1"


async def test_a_stream_that_outlives_the_house_is_told_to_come_again() -> None:
    """By its last event."""
    async with (
        planted(drain_seconds=0) as site,
        httpx2.AsyncClient(base_url=site.url) as client,
        client.stream("GET", FALLING_SILENT) as response,
    ):
        lines = response.aiter_lines()
        assert "data: " in await anext(lines)
        closing = asyncio.create_task(site.doors.aclose())
        heard = [line async for line in _until_cut(lines)]
        await closing

    assert heard[:2] == ["", "event: error"]
    assert json.loads(heard[2].removeprefix("data: "))["reason"] == "UNAVAILABLE"


async def test_a_stream_is_for_who_takes_one(site: Site) -> None:
    """A client of plain JSON could not read it."""
    async with httpx2.AsyncClient(base_url=site.url) as client:
        response = await client.get("/v1/trees/3:watch", headers={"accept": "application/json"})

    assert response.status_code == 406


async def test_a_client_that_leaves_cancels_its_call(site: Site) -> None:
    """Nobody works for somebody who has gone; the log says so, without the path that was asked for."""
    with capture_logs() as logged:
        async with httpx2.AsyncClient(base_url=site.url) as client:
            asking = asyncio.create_task(client.get("/v1/trees/7?height=1.25"))
            await asyncio.wait_for(site.trees.waiting.wait(), 5)
            asking.cancel()
        await asyncio.wait_for(site.trees.cancelled.wait(), 5)
        async with asyncio.timeout(5):
            while not [line for line in logged if line["event"] == "http.done"]:  # noqa: ASYNC110 - nothing to wait on
                await asyncio.sleep(0.01)

    (line,) = [line for line in logged if line["event"] == "http.done"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/trees/{rings}", 499)
    assert "1.25" not in str(logged)


def events(text: str) -> list[tuple[str, str]]:
    """Kind and data of each event."""
    found: list[tuple[str, str]] = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((lines.get("event", "message"), lines["data"]))
    return found


async def _until_cut(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Lines until the connection is closed, which is in the midst of an answer here."""
    with suppress(httpx2.RemoteProtocolError):
        async for line in lines:
            yield line


async def _serve(trees: Trees, stack: AsyncExitStack) -> str:
    server = grpc.aio.server()
    read = message("Tree").FromString
    handlers = {
        "Watch": grpc.unary_stream_rpc_method_handler(trees.watch, read, _write),
        "Grow": grpc.unary_unary_rpc_method_handler(trees.grow, read, _write),
        "Climb": grpc.unary_unary_rpc_method_handler(trees.climb, read, _write),
        "Wait": grpc.unary_unary_rpc_method_handler(trees.grow, read, _write),
    }
    service = CATALOG.methods[0].service
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stack.push_async_callback(server.stop, 0)
    return f"127.0.0.1:{port}"


def _write(answer: Any) -> bytes:
    return answer.SerializeToString()


def _derive(label: str) -> bytes:
    return sha256(label.encode()).digest()


async def _anybody(_: Sequence[str]) -> Caller:
    nobody = UUID(int=0)
    return Caller(nobody, nobody, nobody, "key", frozenset(), Source.GRPC)


async def _ready() -> dict[str, bool]:
    return {}

"""What holds for methods that take or answer with streams, through a server of its own: ours have few yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from typing import Any
from uuid import UUID

import grpc
import pytest
from structlog.testing import capture_logs

from libs.clock import system_clock
from libs.errors import Unauthenticated
from libs.rpc.caller import Caller, Signer, Source, caller
from libs.rpc.chain import Chain
from libs.rpc.rates import Rates
from libs.rpc.rates import Settings as RateSettings
from libs.rpc.telemetry import Settings, Telemetry
from tests.rig.specimen import message, method, serve
from tests.services.test_chain import refused

TAKES, GIVES = "client_streaming: true", "server_streaming: true"
TOO_LONG = "x" * 41
LARGE = "x" * 100_000
"""Of these a few fill what a connection holds for a caller who does not read."""
MANY = 1000


@cache
def grove() -> str:
    """The service's name."""
    return serve(
        "GroveService",
        method(name="Plant", streams=TAKES),
        method(name="Graft", streams=f"{TAKES} {GIVES}"),
        method(name="Watch", streams=GIVES),
        method(name="Fell", options='[treering.options.v1.scope]: "tree:fell"', streams=TAKES),
    )


@dataclass
class Grove:
    """Trees come in, trees go out."""

    planted: list[str] = field(default_factory=list[str])
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def plant(self, requests: AsyncIterator[Any], _: object) -> Any:
        """Keep each tree's id and whose it is; answer how many there were."""
        self.planted += [f"{caller().key}/{tree.id}" async for tree in requests]
        return message("Tree")(rings=len(self.planted))

    async def graft(self, requests: AsyncIterator[Any], _: object) -> AsyncIterator[Any]:
        """Each tree as it came."""
        async for tree in requests:
            yield tree

    async def watch(self, request: Any, _: object) -> AsyncIterator[Any]:
        """Large trees for as long as somebody takes them."""
        try:
            for rings in range(MANY):
                yield message("Tree")(rings=rings, notes={"bark": LARGE})
        finally:
            self.closed.set()


class Forest:
    """A server with the grove behind the chain, and the ways to call it."""

    def __init__(self, address: str, grove: Grove) -> None:
        """Take where it is."""
        self.grove = grove
        self.channel = grpc.aio.insecure_channel(address)

    def call(self, name: str, kind: str, *, key: str = "anna") -> Any:
        """A method by its name; its messages are bytes."""
        path = f"/{grove()}/{name}"
        made = getattr(self.channel, kind)(
            path, request_serializer=bytes, response_deserializer=message("Tree").FromString
        )
        return partial(made, metadata=(("authorization", f"Bearer {key}"),) if key else ())


@pytest.fixture
async def forest() -> AsyncIterator[Forest]:
    """A fresh one. A key may make ten calls in ten seconds."""
    async with AsyncExitStack() as stack:
        telemetry = Telemetry(Settings())
        rates = Rates(RateSettings(read=0, write=1))
        chain = Chain(telemetry, Signer(_derive, system_clock), _verify, rates)
        server = grpc.aio.server(interceptors=(chain,))
        served = Grove()
        server.add_generic_rpc_handlers((_handlers(served),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        stack.push_async_callback(server.stop, 0)
        forest = Forest(f"127.0.0.1:{port}", served)
        stack.push_async_callback(forest.channel.close)
        yield forest


async def test_a_stream_is_taken_for_its_caller(forest: Forest) -> None:
    """Every message reaches the method, which knows whose call it is; the log has one line."""
    with capture_logs() as logged:
        answer = await forest.call("Plant", "stream_unary")(trees("oak", "elm"))

    assert (answer.rings, forest.grove.planted) == (2, ["anna/oak", "anna/elm"])
    done = [line for line in logged if line["event"] == "rpc.done"]
    assert [(line["method"], line["code"]) for line in done] == [(f"/{grove()}/Plant", "OK")]


async def test_streams_both_ways_answer_as_they_go(forest: Forest) -> None:
    """An answer comes before the next message is sent."""
    call = forest.call("Graft", "stream_stream")(None)

    for name in ("oak", "elm"):
        await call.write(tree(name))
        assert (await call.read()).id == name
    await call.done_writing()
    assert await call.code() == grpc.StatusCode.OK


@pytest.mark.parametrize("kind", ["stream_unary", "stream_stream"])
async def test_each_message_keeps_the_rules(forest: Forest, kind: str) -> None:
    """The one that does not is named, and the call ends there."""
    call = forest.call(*method_of(kind))(trees("oak", TOO_LONG, "elm"))

    code, reason, details = await refused(whole(call))

    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert [each.field for each in details["BadRequest"].field_violations] == ["id"]
    assert not forest.grove.planted


@pytest.mark.parametrize("kind", ["stream_unary", "stream_stream"])
async def test_unreadable_bytes_in_a_stream_are_the_callers_fault(forest: Forest, kind: str) -> None:
    """As for any other call."""
    call = forest.call(*method_of(kind))(iter([tree("oak"), b"\xff\xff"]))

    code, reason, _ = await refused(whole(call))

    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")


@pytest.mark.parametrize(
    ("name", "key", "code", "reason"),
    [
        ("Plant", "", grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
        ("Fell", "anna", grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING"),
    ],
)
async def test_who_may_not_is_refused_before_anything_is_read(
    forest: Forest, name: str, key: str, code: grpc.StatusCode, reason: str
) -> None:
    """A stream needs a key and its scope like any other call."""
    call = forest.call(name, "stream_unary", key=key)(trees("oak"))

    assert (code, reason) == (await refused(call))[:2]
    assert not forest.grove.planted


async def test_streams_count_against_the_rate(forest: Forest) -> None:
    """Each as one call, however many messages it has."""
    calls = [forest.call("Plant", "stream_unary", key="eve")(trees("oak", "elm")) for _ in range(30)]

    ended = await asyncio.gather(*calls, return_exceptions=True)

    codes = [each.code() if isinstance(each, grpc.aio.AioRpcError) else grpc.StatusCode.OK for each in ended]
    assert {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED} == set(codes)


async def test_a_stream_ends_with_its_deadline(forest: Forest) -> None:
    """Though its caller might send more."""
    call = forest.call("Plant", "stream_unary")(None, timeout=1)
    await call.write(tree("oak"))

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call

    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_caller_who_leaves_ends_the_stream_at_once(forest: Forest) -> None:
    """Also while the server waits for a reader who does not read: what the method holds is let go."""
    with capture_logs() as logged:
        call = forest.call("Watch", "unary_stream")(tree("oak"))
        await call.read()
        await asyncio.sleep(0.2)  # so that the server comes to wait; without it this shows less, and holds
        call.cancel()
        await asyncio.wait_for(forest.grove.closed.wait(), 10)
        async with asyncio.timeout(10):
            while not [line for line in logged if line["event"] == "rpc.done"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    assert [(line["event"], line.get("code")) for line in logged] == [("rpc.done", "CANCELLED")]


def tree(name: str) -> bytes:
    """A tree as it travels."""
    return message("Tree")(id=name).SerializeToString()


def trees(*names: str) -> Any:
    """A stream of trees."""
    return iter([tree(name) for name in names])


def method_of(kind: str) -> tuple[str, str]:
    """The method that takes a stream and answers in this way."""
    return ("Plant" if kind == "stream_unary" else "Graft"), kind


async def whole(call: Any) -> Any:
    """All that a call answers."""
    return [each async for each in call] if hasattr(call, "__aiter__") else await call


def _handlers(served: Grove) -> grpc.GenericRpcHandler:
    read = message("Tree").FromString
    plant = grpc.stream_unary_rpc_method_handler(served.plant, read, _write)
    handlers = {
        "Plant": plant,
        "Fell": plant,
        "Graft": grpc.stream_stream_rpc_method_handler(served.graft, read, _write),
        "Watch": grpc.unary_stream_rpc_method_handler(served.watch, read, _write),
    }
    return grpc.method_handlers_generic_handler(grove(), handlers)


def _write(answer: Any) -> bytes:
    return answer.SerializeToString()


def _derive(label: str) -> bytes:
    return sha256(label.encode()).digest()


async def _verify(authorization: Sequence[str]) -> Caller:
    """Whoever shows a key is its owner."""
    if not authorization:
        raise Unauthenticated
    nobody, key = UUID(int=0), authorization[0].removeprefix("Bearer ")
    return Caller(nobody, nobody, nobody, key, frozenset({"tree:read"}), Source.GRPC)

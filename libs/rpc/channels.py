"""Calls to other services: deadline, caller and trace go along."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from operator import methodcaller
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2
from opentelemetry.trace import SpanKind

from libs.rpc.caller import CONTEXT_KEY, Caller, Signer
from libs.rpc.methods import audience_of
from libs.rpc.problems import REQUEST_ID_KEY
from libs.rpc.server import MESSAGE_BYTES_MAX
from libs.rpc.telemetry import TRACEPARENT, Telemetry

RECONNECT_MS_MIN = 100
RECONNECT_MS_MAX = 1000
"""Between two attempts to connect. A service that comes back is called again within about a second."""
HEALTH_SECONDS = 2.0
HEALTH = "/grpc.health.v1.Health/Check"
# Replicas take turns. Calls that no server saw are sent again by grpc itself; others are not, so nothing
# happens twice.
SERVICE_CONFIG = json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.service_config", SERVICE_CONFIG),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.initial_reconnect_backoff_ms", RECONNECT_MS_MIN),
    ("grpc.min_reconnect_backoff_ms", RECONNECT_MS_MAX),
    ("grpc.max_reconnect_backoff_ms", RECONNECT_MS_MAX),
)
serialize = methodcaller("SerializeToString")


class Remote:
    """Another service, at an address."""

    def __init__(self, address: str, signer: Signer, telemetry: Telemetry) -> None:
        """Open a channel; it connects when it is first used."""
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self._signer = signer
        self._telemetry = telemetry
        self._methods: dict[str, Any] = {}

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def call(
        self,
        path: str,
        request: Message,
        response: Callable[[bytes], Message],
        *,
        caller: Caller,
        request_id: str,
        timeout: float,
        patient: bool = False,
    ) -> Message:
        """Call a method on behalf of a caller. ``grpc.aio.AioRpcError`` if it is refused.

        A service that cannot be reached is told at once, unless the call is patient: then it waits until its
        time is over.
        """
        method = self._method(path, self._channel.unary_unary, response)
        with self._telemetry.span(path, SpanKind.CLIENT):
            metadata = self._metadata(path, caller, request_id)
            call = method(request, timeout=timeout, metadata=metadata, wait_for_ready=patient)
            return cast(Message, await call)

    async def stream(
        self,
        path: str,
        request: Message,
        response: Callable[[bytes], Message],
        *,
        caller: Caller,
        request_id: str,
        timeout: float,
    ) -> AsyncGenerator[Message]:
        """Call a method that answers with a stream. Closing it cancels the call."""
        method = self._method(path, self._channel.unary_stream, response)
        metadata = self._metadata(path, caller, request_id)
        call = method(request, timeout=timeout, metadata=metadata)
        try:
            async for message in call:
                yield cast(Message, message)
        finally:
            call.cancel()  # does nothing to one that has ended

    async def serves(self, service: str) -> bool:
        """Whether that service is well, by its health."""
        check = self._method(HEALTH, self._channel.unary_unary, health_pb2.HealthCheckResponse.FromString)
        try:
            answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=HEALTH_SECONDS)
        except grpc.aio.AioRpcError:
            return False
        return answer.status == health_pb2.HealthCheckResponse.SERVING

    def _method(self, path: str, kind: Callable[..., Any], response: Callable[[bytes], Message]) -> Any:
        if path not in self._methods:
            self._methods[path] = kind(path, serialize, response)
        return self._methods[path]

    def _metadata(self, path: str, caller: Caller, request_id: str) -> tuple[tuple[str, str | bytes], ...]:
        audience = audience_of(path.lstrip("/"))
        pairs: list[tuple[str, str | bytes]] = [
            (CONTEXT_KEY, self._signer.sign(caller, audience)),
            (REQUEST_ID_KEY, request_id),
        ]
        if traceparent := self._telemetry.traceparent():
            pairs.append((TRACEPARENT, traceparent))
        return tuple(pairs)

"""One gRPC server for all roles of a process: bind, health, reflection, drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import grpc
import structlog
from google.protobuf.descriptor_pool import Default
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.reflection import aio as reflection

from libs.loops import Loop, every
from libs.refusal import Refused
from libs.rpc.chain import Chain
from libs.rpc.telemetry import Telemetry

MESSAGE_BYTES_MAX = 4 * 1024 * 1024
METADATA_BYTES_MAX = 16 * 1024
CALLS_MAX = 1000
"""Calls served at once; one more is answered RESOURCE_EXHAUSTED."""
STREAMS_PER_CONNECTION_MAX = CALLS_MAX
"""Python's gRPC client fails calls over this instead of letting them wait: one client may use all of it."""
DRAIN_SECONDS = 10.0
PING_SECONDS = 1.0
PING_LIMIT_SECONDS = 3.0
REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"
REFLECTION_V1ALPHA = "grpc.reflection.v1alpha.ServerReflection"

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_metadata_size", METADATA_BYTES_MAX),
    ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION_MAX),
    ("grpc.so_reuseport", 0),  # a second server on the port must fail, not share it
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Service:
    """What a role brings to the server."""

    name: str
    """Its full name in the protos, e.g. ``treering.memory.v1.MemoryService``."""
    register: Callable[[grpc.aio.Server], None]
    ping: Callable[[], Awaitable[None]]
    """Returns while the service is well; its health follows from it."""
    loops: tuple[Loop, ...] = ()
    internal: bool = False
    """Whether only other services call it. Reflection does not show it then."""


class Health:
    """The health of each service, by its own ping; ``""`` is well when all are."""

    def __init__(self, services: Sequence[Service], telemetry: Telemetry) -> None:
        """Begin with none of them well."""
        self.servicer = HealthServicer()
        self._services = services
        self._telemetry = telemetry
        self._well: dict[str, bool] = {}

    async def look(self) -> None:
        """Ask every service once."""
        answers = await asyncio.gather(*(_answers(service) for service in self._services))
        for service, well in zip(self._services, answers, strict=True):
            await self._tell(service.name, well)
        await self._tell("", all(answers))

    async def drain(self) -> None:
        """Tell everybody that we are leaving."""
        await self.servicer.enter_graceful_shutdown()

    async def _tell(self, name: str, well: bool) -> None:
        if self._well.get(name) is well:
            return
        if name:
            self._well[name] = well
            self._telemetry.serving.labels(name).set(well)
            log.info("health.changed", service=name, serving=well)
        serving = health_pb2.HealthCheckResponse.SERVING
        status = serving if well else health_pb2.HealthCheckResponse.NOT_SERVING
        await self.servicer.set(name, status)


async def _answers(service: Service) -> bool:
    try:
        async with asyncio.timeout(PING_LIMIT_SECONDS):
            await service.ping()
    except Exception as error:
        log.debug("health.ping_failed", service=service.name, error=type(error).__name__)
        return False
    return True


class _ByName:
    """A server, as generated code registers methods with it: found by name when they are called.

    That code also registers each method by itself. grpc.aio then waits for a call of every one of them
    anew after each call, so that all calls pay for all methods: 0.1 ms of processor time with 80 (measured).
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Serve the methods of a service."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, object]) -> None:
        """Nothing more is needed."""


@asynccontextmanager
async def serve(
    address: str, services: Sequence[Service], chain: Chain, telemetry: Telemetry
) -> AsyncGenerator[None]:
    """Serve while the block runs; then finish what is under way, for ten seconds at most."""
    server = grpc.aio.server(interceptors=(chain,), options=OPTIONS, maximum_concurrent_rpcs=CALLS_MAX)
    by_name = cast(grpc.aio.Server, _ByName(server))
    for service in services:
        service.register(by_name)
    watched = Health(services, telemetry)
    health_pb2_grpc.add_HealthServicer_to_server(watched.servicer, by_name)
    _reflect(by_name, [service.name for service in services if not service.internal])
    try:
        server.add_insecure_port(address)
    except RuntimeError:
        raise Refused(
            f"gRPC cannot listen on {address}: the port is taken. Set TREERING_GRPC_PORT."
        ) from None
    await server.start()
    loops = [every(PING_SECONDS, watched.look, name="health", limit_seconds=PING_LIMIT_SECONDS + 1)]
    loops += [loop for service in services for loop in service.loops]
    await watched.look()
    # Not in a TaskGroup, which would wrap what the block raises.
    running = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
    try:
        yield
    finally:
        await watched.drain()
        await server.stop(DRAIN_SECONDS)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _reflect(server: grpc.aio.Server, names: list[str]) -> None:
    """Serve reflection under both of its names; their messages are the same bytes."""
    shown = [*names, health.SERVICE_NAME, REFLECTION_V1, REFLECTION_V1ALPHA]
    servicer = reflection.ReflectionServicer(shown, pool=Default())
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, server)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(REFLECTION_V1, {"ServerReflectionInfo": handler}),)
    )

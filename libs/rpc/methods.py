"""What the protos say about each method that is served."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from treering.options.v1 import options_pb2

NO_SIDE_EFFECTS = descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
PUBLIC_PACKAGES = ("grpc.health.", "grpc.reflection.")
"""Health and reflection say nothing about anybody; they need no key."""
CALL_SECONDS = 30.0
"""How long a call without a deadline of its own may take."""
CALL_SECONDS_MAX = 60.0
"""How long any call may take, and how long a stream may last."""
WAIT_SECONDS = CALL_SECONDS_MAX + 5
"""The same of methods that wait, for a minute at most: what comes in its last moment is still answered."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long calls of a method may take, in seconds."""

    usual: float
    """Where the caller does not say."""
    latest: float
    """Whatever the caller says."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method and what it asks of its callers."""

    path: str
    """As it travels, e.g. ``/treering.memory.v1.MemoryService/Search``."""
    audience: str
    """The short name of its service's package, e.g. ``memory``."""
    scope: str
    """What a key needs. Empty: nothing, anyone may call."""
    rate_class: str
    """Which of a key's counters it uses: ``read``, ``write`` or ``admin``."""
    deadline: Deadline


def method(path: str) -> Method:
    """Read a method's options. ``LookupError`` if the protos know no such method or it names no scope."""
    service, _, name = path.lstrip("/").rpartition("/")
    if service.startswith(PUBLIC_PACKAGES):
        return Method(path, "", "", "read", Deadline(CALL_SECONDS, CALL_SECONDS_MAX))
    described: MethodDescriptor | None = _service(service).methods_by_name.get(name)
    if described is None:
        raise LookupError(path)
    options = described.GetOptions()
    scope = _scope(options)
    if not scope:
        raise LookupError(f"{path} names no scope")
    reads = options.idempotency_level == NO_SIDE_EFFECTS
    rate_class = "admin" if scope == "admin" else "read" if reads else "write"
    streams = described.client_streaming or described.server_streaming
    return Method(path, audience_of(service), scope, rate_class, deadline(options, streams=streams))


def deadline(options: descriptor_pb2.MethodOptions, *, streams: bool) -> Deadline:
    """How long a method with these options may take."""
    if _waits(options):
        return Deadline(WAIT_SECONDS, WAIT_SECONDS)
    return Deadline(CALL_SECONDS_MAX if streams else CALL_SECONDS, CALL_SECONDS_MAX)


def audience_of(service: str) -> str:
    """``memory`` for ``treering.memory.v1.MemoryService``."""
    return service.split(".")[1]


def _scope(options: descriptor_pb2.MethodOptions) -> str:
    return options.Extensions[options_pb2.scope]  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _waits(options: descriptor_pb2.MethodOptions) -> bool:
    return options.Extensions[options_pb2.waits]  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _service(name: str) -> ServiceDescriptor:
    return descriptor_pool.Default().FindServiceByName(name)

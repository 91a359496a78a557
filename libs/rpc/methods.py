"""What the protos say about each method that is served."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from treering.options.v1 import options_pb2

NO_SIDE_EFFECTS = descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
PUBLIC_PACKAGES = ("grpc.health.", "grpc.reflection.")
"""Health and reflection say nothing about anybody; they need no key."""


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


def method(path: str) -> Method:
    """Read a method's options. ``LookupError`` if the protos know no such method or it names no scope."""
    service, _, name = path.lstrip("/").rpartition("/")
    if service.startswith(PUBLIC_PACKAGES):
        return Method(path, "", "", "read")
    described: MethodDescriptor | None = _service(service).methods_by_name.get(name)
    if described is None:
        raise LookupError(path)
    options = described.GetOptions()
    scope = _scope(options)
    if not scope:
        raise LookupError(f"{path} names no scope")
    reads = options.idempotency_level == NO_SIDE_EFFECTS
    rate_class = "admin" if scope == "admin" else "read" if reads else "write"
    return Method(path, audience_of(service), scope, rate_class)


def audience_of(service: str) -> str:
    """``memory`` for ``treering.memory.v1.MemoryService``."""
    return service.split(".")[1]


def _scope(options: descriptor_pb2.MethodOptions) -> str:
    return options.Extensions[options_pb2.scope]  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _service(name: str) -> ServiceDescriptor:
    return descriptor_pool.Default().FindServiceByName(name)

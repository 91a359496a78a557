"""A program with a key that waits for each answer: for threads, and for tests without an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from grpc_health.v1 import health_pb2_grpc
from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.clipboard.v1 import clipboard_service_pb2_grpc as clipboard_rpc
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc
from treering.results.v1 import journal_service_pb2_grpc as journal_rpc
from treering.results.v1 import results_service_pb2_grpc as results_rpc
from treering.results.v1 import run_service_pb2_grpc as run_rpc


class _Details(grpc.ClientCallDetails):
    """A call's details with more metadata; grpc itself gives no way to make some."""

    def __init__(self, given: Any, shown: tuple[str, str]) -> None:
        self.method = given.method
        self.timeout = given.timeout
        self.metadata = (*(given.metadata or ()), shown)
        self.credentials = given.credentials
        self.wait_for_ready = given.wait_for_ready
        self.compression = given.compression


class _Bearer(grpc.UnaryUnaryClientInterceptor):
    """Shows a key with every call."""

    def __init__(self, secret: str) -> None:
        self._shown = ("authorization", f"Bearer {secret}")

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: Any, request: Any
    ) -> Any:
        return continuation(_Details(client_call_details, self._shown), request)


class Agent:
    """The services at an address, with one key."""

    def __init__(self, address: str, secret: str) -> None:
        # Connections of its own: else one that was refused while a house was down still counts afterwards.
        self._channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        shown = grpc.intercept_channel(self._channel, _Bearer(secret))
        self.memory = memory_rpc.MemoryServiceStub(shown)
        self.clipboard = clipboard_rpc.ClipboardServiceStub(shown)
        self.results = results_rpc.ResultsServiceStub(shown)
        self.runs = run_rpc.RunServiceStub(shown)
        self.journal = journal_rpc.JournalServiceStub(shown)
        self.access = access_rpc.AccessServiceStub(shown)
        self.health: Any = health_pb2_grpc.HealthStub(self._channel)

    def close(self) -> None:
        """Let go of the connection."""
        self._channel.close()

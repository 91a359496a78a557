"""Profiles with keys, to call a measured house as."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import grpc
from treering.access.v1 import access_service_pb2 as access
from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.clipboard.v1 import clipboard_service_pb2_grpc as clipboard_rpc
from treering.decay.v1 import decay_service_pb2_grpc as decay_rpc
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc
from treering.results.v1 import results_service_pb2_grpc as results_rpc

from bench.house import House

numbers = itertools.count(1)


class Bearer(grpc.aio.UnaryUnaryClientInterceptor):
    """Shows a key with every call."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def intercept_unary_unary(
        self,
        continuation: Callable[[grpc.aio.ClientCallDetails, Any], Any],
        client_call_details: grpc.aio.ClientCallDetails,
        request: Any,
    ) -> Any:
        """Add the key to the call's metadata."""
        metadata = grpc.aio.Metadata(
            *(client_call_details.metadata or ()), ("authorization", f"Bearer {self._secret}")
        )
        details = grpc.aio.ClientCallDetails(
            client_call_details.method,
            client_call_details.timeout,
            metadata,
            client_call_details.credentials,
            client_call_details.wait_for_ready,
        )
        return await continuation(details, request)


@dataclass(frozen=True, slots=True)
class Person:
    """One profile and its stubs."""

    profile_id: str
    memory: memory_rpc.MemoryServiceStub
    clipboard: clipboard_rpc.ClipboardServiceStub
    results: results_rpc.ResultsServiceStub
    decay: decay_rpc.DecayServiceStub


async def person(house: House, stack: AsyncExitStack) -> Person:
    """A new profile with a key of its own."""
    admin = await stack.enter_async_context(
        grpc.aio.insecure_channel(house.grpc, interceptors=[Bearer(house.key)])
    )
    stub = access_rpc.AccessServiceStub(admin)
    name = f"bench-{next(numbers)}"
    made = await stub.CreateProfile(access.CreateProfileRequest(owner=name, workspace=name, profile=name))
    key = await stub.CreateKey(access.CreateKeyRequest(profile_id=made.profile.id, name=name))
    channel = grpc.aio.insecure_channel(house.grpc, interceptors=[Bearer(key.secret)])
    await stack.enter_async_context(channel)
    return Person(
        made.profile.id,
        memory_rpc.MemoryServiceStub(channel),
        clipboard_rpc.ClipboardServiceStub(channel),
        results_rpc.ResultsServiceStub(channel),
        decay_rpc.DecayServiceStub(channel),
    )

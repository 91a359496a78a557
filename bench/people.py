"""Profiles with keys, to call a measured house as."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import grpc
from treering.access.v1 import access_service_pb2 as access
from treering.access.v1 import access_service_pb2_grpc as access_rpc
from treering.clipboard.v1 import clipboard_service_pb2_grpc as clipboard_rpc
from treering.decay.v1 import decay_service_pb2_grpc as decay_rpc
from treering.memory.v1 import memory_service_pb2_grpc as memory_rpc
from treering.results.v1 import results_service_pb2_grpc as results_rpc

from bench.house import House

numbers = itertools.count(1)


class Shown:
    """A channel that shows a key with every call.

    By the metadata of each call: an interceptor of grpc.aio puts two tasks around a call and costs the client
    0.4 ms (measured), which would be counted against the house.
    """

    def __init__(self, channel: grpc.aio.Channel, secret: str) -> None:
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {secret}"),)

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        """``unary_unary`` and its like: what generated stubs ask a channel for."""

        def made(*args: Any, **kwargs: Any) -> Callable[..., Any]:
            return partial(getattr(self._channel, kind)(*args, **kwargs), metadata=self._metadata)

        return made


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
    bare = await stack.enter_async_context(grpc.aio.insecure_channel(house.grpc))
    stub = access_rpc.AccessServiceStub(_shown(bare, house.key))
    name = f"bench-{next(numbers)}"
    made = await stub.CreateProfile(access.CreateProfileRequest(owner=name, workspace=name, profile=name))
    key = await stub.CreateKey(access.CreateKeyRequest(profile_id=made.profile.id, name=name))
    channel = _shown(await stack.enter_async_context(grpc.aio.insecure_channel(house.grpc)), key.secret)
    return Person(
        made.profile.id,
        memory_rpc.MemoryServiceStub(channel),
        clipboard_rpc.ClipboardServiceStub(channel),
        results_rpc.ResultsServiceStub(channel),
        decay_rpc.DecayServiceStub(channel),
    )


def _shown(channel: grpc.aio.Channel, secret: str) -> grpc.aio.Channel:
    return cast(grpc.aio.Channel, Shown(channel, secret))

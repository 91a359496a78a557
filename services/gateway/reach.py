"""The way from a door to the service that a method belongs to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from google.protobuf.message import Message

from libs.rpc.caller import Caller
from libs.rpc.channels import Remote
from libs.rpc.methods import audience_of
from services.gateway.catalog import Method


class Reach:
    """Calls services over gRPC, each at its own address."""

    def __init__(self, remote: Callable[[str], Remote]) -> None:
        """Take the way to a service by its audience."""
        self._remote = remote

    async def __call__(self, method: Method, request: Message, *, caller: Caller, request_id: str) -> Message:
        """Call a method that gives one answer."""
        return await self._remote(audience_of(method.service)).call(
            method.path,
            request,
            method.response.FromString,
            caller=caller,
            request_id=request_id,
            timeout=method.seconds,
        )

    def stream(
        self, method: Method, request: Message, *, caller: Caller, request_id: str
    ) -> AsyncGenerator[Message]:
        """Call a method that answers with a stream."""
        return self._remote(audience_of(method.service)).stream(
            method.path,
            request,
            method.response.FromString,
            caller=caller,
            request_id=request_id,
            timeout=method.seconds,
        )

"""How a door reaches the services, and what it needs to know of a request while it is served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from google.protobuf.message import Message
from starlette.types import Receive, Scope

from libs.errors import Unavailable
from libs.rpc.caller import Caller
from services.gateway.catalog import Method

VISIT: Final = "treering.visit"
"""Where a request's visit stands in its ASGI scope."""
UNMATCHED: Final = "unmatched"

T = TypeVar("T")

Authenticate = Callable[[Sequence[str]], Awaitable[Caller]]
"""Turns the values of all `Authorization` headers into a caller. Raises ``Unauthenticated``."""


class Calls(Protocol):
    """Calls methods on behalf of a caller, each for as long as it may take.

    Both raise ``grpc.aio.AioRpcError``.
    """

    async def __call__(self, method: Method, request: Message, *, caller: Caller, request_id: str) -> Message:
        """Call a method that gives one answer."""
        ...

    def stream(
        self, method: Method, request: Message, *, caller: Caller, request_id: str
    ) -> AsyncGenerator[Message]:
        """Call a method that answers with a stream. Closing it cancels the call."""
        ...


@dataclass(slots=True)
class Visit:
    """One HTTP request, from its first header to the line about it in the log."""

    request_id: str
    route: str = UNMATCHED
    """The template of its path; never the path itself, which may hold anything."""


def visit(scope: Scope) -> Visit:
    """The visit of a request."""
    found: Visit = scope[VISIT]
    return found


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class Closing(Unavailable):
    """The house is closing. Please try again."""


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, but only for as long as its client waits: then it is cancelled, and ``ClientGone`` raised.

    The request's body must have been read.
    """
    doing = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise ClientGone
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""One HTTP server in the background of a process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from libs.refusal import Refused

DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 30
HEADER_SECONDS = 10.0
"""From a request's first byte, or a connection's start, to the end of its headers."""
BACKLOG = 512
CONNECTIONS_MAX = 1000
START_POLL_SECONDS = 0.01


class _Server(uvicorn.Server):
    """Leaves signals to the process that it is a part of."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Punctual(H11Protocol):
    """Closes a connection whose headers do not come to an end: it would hold one of our places for ever."""

    header_seconds = HEADER_SECONDS
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._mind_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._mind_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def _mind_headers(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.header_seconds, self.transport.close)

    def _forget(self) -> None:
        if self._patience:
            self._patience.cancel()
            self._patience = None


@asynccontextmanager
async def serve(
    application: Callable[..., Any],
    host: str,
    port: int,
    *,
    header_seconds: float = HEADER_SECONDS,
    drain_seconds: int = DRAIN_SECONDS,
) -> AsyncGenerator[None]:
    """Serve while the block runs, then finish what is under way, for ten seconds at most.

    What is not finished then is cancelled, and may still say so.
    """
    config = uvicorn.Config(
        application,
        http=type("Punctual", (_Punctual,), {"header_seconds": header_seconds}),
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=drain_seconds,
    )
    server = _Server(config)
    with _bound(host, port) as listening:
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not task.done():  # noqa: ASYNC110 -- uvicorn has no event for it
            await asyncio.sleep(START_POLL_SECONDS)
        try:
            yield
        finally:
            server.should_exit = True
            await task


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only where it is told that this is TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise Refused(
            f"HTTP cannot listen on {host}:{port}: {error.strerror}. Set TREERING_HTTP_PORT."
        ) from None
    listening.listen(BACKLOG)
    return listening

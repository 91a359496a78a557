"""One HTTP server in the background of a process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from libs.refusal import Refused

DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 30
BACKLOG = 512
CONNECTIONS_MAX = 1000
START_POLL_SECONDS = 0.01


class _Server(uvicorn.Server):
    """Leaves signals to the process that it is a part of."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def serve(application: Callable[..., Any], host: str, port: int) -> AsyncGenerator[None]:
    """Serve while the block runs, then finish what is under way, for ten seconds at most."""
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
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

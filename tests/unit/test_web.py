"""The HTTP server gives nobody a place for ever."""

from __future__ import annotations

import asyncio
from typing import Any

from libs.rpc import web
from tests.rig.house import free_port

HEADER_SECONDS = 0.3
LONG_ENOUGH = 30
REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


async def hello(scope: Any, _: Any, send: Any) -> None:
    """An application that says hello."""
    if scope["type"] == "http":
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"hello"})


async def test_headers_that_never_end_lose_their_connection() -> None:
    """Half a header, or nothing at all, first or after a request that was fine: the connection is closed."""
    port = free_port()
    async with web.serve(hello, "127.0.0.1", port, header_seconds=HEADER_SECONDS):
        for whole, half in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nhost"), (REQUEST, b"GET / HT")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if whole:
                writer.write(whole)
                assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
            writer.write(half)
            async with asyncio.timeout(LONG_ENOUGH):
                assert await reader.read() == b""
            writer.close()


async def test_a_connection_that_is_used_again_is_kept() -> None:
    """A wait between two whole requests is not a slow header."""
    port = free_port()
    async with web.serve(hello, "127.0.0.1", port, header_seconds=HEADER_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(REQUEST)
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(2 * HEADER_SECONDS)
        writer.close()

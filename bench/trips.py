"""Round trips to Postgres, counted where they pass: a relay between a house and its database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlencode, urlsplit

HOST = "127.0.0.1"
START_SECONDS_MAX = 10
CHUNK_BYTES_MAX = 65_536
HEADER_BYTES = 5
WAITS_FOR_AN_ANSWER = frozenset(b"SQ")
"""Sync, which ends an extended query, and Query, a simple one."""


class Relay:
    """Passes everything on, both ways, and counts what clients wait for."""

    def __init__(self, dsn: str) -> None:
        """Take the database that it leads to, on this machine."""
        self._leads_to = urlsplit(dsn)
        self.trips = 0
        self.dsn = ""
        """How to get to the database through the relay, once it serves."""

    async def serve(self, ready: threading.Event) -> None:
        """Relay until cancelled."""
        server = await asyncio.start_server(self._relay, HOST, 0)
        # asyncpg would ask for TLS first; a relay in the clear has none.
        query = {"host": HOST, "port": server.sockets[0].getsockname()[1], "sslmode": "disable"}
        self.dsn = self._leads_to._replace(query=urlencode(query)).geturl()
        ready.set()
        async with server:
            await server.serve_forever()

    async def _relay(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        [port] = parse_qs(self._leads_to.query)["port"]
        answers, database = await asyncio.open_connection(HOST, int(port))
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(_pass_on(answers, back))
                await self._count(client, database)
        except* (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            back.close()
            database.close()

    async def _count(self, client: asyncio.StreamReader, database: asyncio.StreamWriter) -> None:
        """Pass a client's messages on, one by one. The first has no type before its length."""
        length = await client.readexactly(HEADER_BYTES - 1)
        database.write(length + await client.readexactly(int.from_bytes(length) - len(length)))
        while True:
            header = await client.readexactly(HEADER_BYTES)
            database.write(header + await client.readexactly(int.from_bytes(header[1:]) - HEADER_BYTES + 1))
            await database.drain()
            self.trips += header[0] in WAITS_FOR_AN_ANSWER


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK_BYTES_MAX):
        sink.write(chunk)
        await sink.drain()
    sink.close()


@contextmanager
def relayed(dsn: str) -> Generator[Relay]:
    """A relay before a database, in a thread of its own."""
    passing = Relay(dsn)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(passing.serve(ready))
    thread = threading.Thread(target=_until_cancelled, args=(loop, serving))
    thread.start()
    try:
        if not ready.wait(START_SECONDS_MAX):
            raise SystemExit("The relay did not start.")
        yield passing
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()


def _until_cancelled(loop: asyncio.AbstractEventLoop, serving: asyncio.Task[None]) -> None:
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(serving)
    loop.close()

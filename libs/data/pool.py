"""Open connections of one role: a bounded number, lent one at a time, replaced when they break.

asyncpg has a pool of its own; it starts tasks to lend and to take back, which costs as much as a short
query does (50 us measured), and we have nothing to reset.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg

from libs.data.faults import RETRY_SECONDS, Away, Busy, translated

WAIT_SECONDS = 1.5
ROLLBACK_SECONDS = 2.0
CLOSE_SECONDS = 5.0

Raw = asyncpg.Connection


class Pool:
    """At most ``size`` connections. The last one given back is the next one lent, so that few stay warm."""

    def __init__(self, open_one: Callable[[], Awaitable[Raw]], size: int) -> None:
        self._open_one = open_one
        self._permits = asyncio.Semaphore(size)
        self._idle: list[Raw] = []

    async def warm(self, count: int) -> None:
        """Open some before they are needed."""
        self._idle += [await self._opened() for _ in range(count)]

    @asynccontextmanager
    async def lend(self) -> AsyncGenerator[Raw]:
        """A connection for the block. ``Busy`` if none is free for ``WAIT_SECONDS``; ``Away`` drops it."""
        await self._permit()
        try:
            raw = self._ready() or await self._opened()
            try:
                yield raw
            except Away:
                # Whatever it was, this connection is not to be trusted.
                drop(raw)
                raise
            except asyncio.CancelledError:
                # The server may still be at work on what nobody waits for.
                await roll_back(raw)
                raise
            finally:
                self._take_back(raw)
        finally:
            self._permits.release()

    async def close(self) -> None:
        """Close what is idle, in order if the server lets us."""
        while self._idle:
            raw = self._idle.pop()
            try:
                await raw.close(timeout=CLOSE_SECONDS)
            except Exception:
                drop(raw)

    async def _permit(self) -> None:
        if not self._permits.locked():
            await self._permits.acquire()
            return
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._permits.acquire()
        except TimeoutError:
            raise Busy(retry_after=RETRY_SECONDS) from None

    def _ready(self) -> Raw | None:
        while self._idle:
            raw = self._idle.pop()
            if not raw.is_closed():
                return raw
        return None

    def _take_back(self, raw: Raw) -> None:
        if raw.is_closed():
            return
        if raw.is_in_transaction():
            # Never to happen. A transaction that stayed open would show the next caller another's rows.
            drop(raw)
            return
        self._idle.append(raw)

    async def _opened(self) -> Raw:
        with translated():
            return await self._open_one()


async def roll_back(raw: Raw) -> None:
    """End whatever a connection is in the middle of, or the connection."""
    try:
        await raw.execute("ROLLBACK", timeout=ROLLBACK_SECONDS)
    except BaseException as error:
        # The server rolls back by itself when the connection is gone.
        drop(raw)
        if not isinstance(error, Exception):
            raise


def drop(raw: Raw) -> None:
    """Close a connection without asking."""
    with suppress(Exception):  # It may be closed already.
        raw.terminate()

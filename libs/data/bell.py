"""Tells every process on the same database that something has changed, after it has.

``NOTIFY`` takes a lock of the whole database until its transaction commits, so it is never part of one that
matters: signs are collected and sent a little later, many at once. One connection sends and listens. It can
break, and then signs are lost: whoever must not miss one looks again from time to time.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import structlog

from libs.data.pool import Raw, drop
from libs.data.postgres import COMMAND_SECONDS, CONNECT_SECONDS, SERVER_SETTINGS

NAME = "treering bell"
"""What the connection calls itself."""
GATHER_SECONDS = 0.005
"""How long signs are collected before they are sent."""
PING_SECONDS = 15.0
"""How long the connection is silent before it is asked whether it is still there."""
RETRY_SECONDS = 0.5
SIGNS_MAX = 4_096
"""Signs that wait to be sent. With more, everybody is told to look at everything."""
SIGNS_PER_NOTICE_MAX = 96
SIGN_BYTES_MAX = 48
"""64 characters as base64, so that a notice stays under Postgres' 8,000 bytes."""
EVERYTHING = "*"

Heard = Callable[[bytes], None]

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Bell:
    """Rings in every process that listens on this channel, this one excepted."""

    def __init__(self, open_one: Callable[[], Awaitable[Raw]], channel: str) -> None:
        self._open_one = open_one
        self._channel = channel
        self._signs: dict[bytes, None] = {}
        self._flooded = False
        self._stir = asyncio.Event()

    def ring(self, sign: bytes) -> None:
        """Send a sign soon."""
        if len(sign) > SIGN_BYTES_MAX:
            raise ValueError(f"a sign of {len(sign)} bytes")
        if len(self._signs) < SIGNS_MAX:
            self._signs[sign] = None
        else:
            self._flooded = True
        self._stir.set()

    @asynccontextmanager
    async def running(self, heard: Heard, missed: Callable[[], None]) -> AsyncGenerator[None]:
        """Send and listen while the block runs. ``missed`` is called when signs may have been lost."""
        task = asyncio.create_task(self._run(heard, missed), name="bell")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, heard: Heard, missed: Callable[[], None]) -> None:
        while True:
            try:
                await self._connected(heard, missed)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
                log.warning("bell.lost", error=type(error).__name__)
            await asyncio.sleep(RETRY_SECONDS)

    async def _connected(self, heard: Heard, missed: Callable[[], None]) -> None:
        """Send and listen for as long as one connection holds."""
        raw = await self._open_one()
        own = raw.get_server_pid()

        def hear(_: object, pid: int, __: str, notice: object) -> None:
            if pid != own:
                _told(str(notice), heard, missed)

        try:
            await raw.add_listener(self._channel, hear)
            raw.add_termination_listener(self._ended)
            missed()  # what rang before we listened
            while not raw.is_closed():
                await self._stirred()
                await self._send(raw)
        finally:
            drop(raw)

    def _ended(self, _: object) -> None:
        self._stir.set()

    async def _stirred(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._stir.wait()
            await asyncio.sleep(GATHER_SECONDS)
        except TimeoutError:
            pass
        self._stir.clear()

    async def _send(self, raw: Raw) -> None:
        """Send what was collected; with nothing to send, see whether anybody is there."""
        if not self._signs:
            await raw.fetchval("SELECT 1")
        while self._signs:
            signs = list(self._signs)[:SIGNS_PER_NOTICE_MAX]
            notice = (
                EVERYTHING if self._flooded else " ".join(base64.b64encode(sign).decode() for sign in signs)
            )
            await raw.fetchval("SELECT pg_notify($1, $2)", self._channel, notice)
            if self._flooded:
                self._flooded = False
                self._signs.clear()
            for sign in signs:
                self._signs.pop(sign, None)


def bell(dsn: str, *, role: str, password: str, channel: str) -> Bell:
    """A bell on a connection of its own under a role."""

    async def open_one() -> Raw:
        return await asyncpg.connect(
            dsn,
            user=role,
            password=password,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            # A sign that a crash loses is found by those that look again.
            server_settings={**SERVER_SETTINGS, "application_name": NAME, "synchronous_commit": "off"},
        )

    return Bell(open_one, channel)


def _told(notice: str, heard: Heard, missed: Callable[[], None]) -> None:
    if notice == EVERYTHING:
        missed()
        return
    try:
        signs = [base64.b64decode(each, validate=True) for each in notice.split(" ")]
    except binascii.Error:
        return  # not one of ours
    for sign in signs:
        heard(sign)

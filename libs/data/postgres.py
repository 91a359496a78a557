"""A pool of connections under one role.

A query runs for one profile, inside ``as_profile``, or in a function that sets the profile itself;
with neither, row-level security shows it nothing. Errors arrive as ``libs.data.faults`` tells them.
``jsonb`` goes in and out as Python values, ``halfvec`` as numpy arrays of float32.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, TypeVar
from uuid import UUID

import asyncpg

from libs.data import codecs
from libs.data.faults import DatabaseFault, Overtaken, translated
from libs.data.pool import Pool, Raw, drop, roll_back

POOL_SIZE = 10
POOL_SIZE_WARM = 2
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 15
COMMAND_SECONDS = STATEMENT_SECONDS + 5
"""Longer than the server's own limit: when this passes, the server is silent."""
LOCK_SECONDS = 5
IDLE_IN_TRANSACTION_SECONDS = 15
PING_SECONDS = 2.0
ATTEMPTS_MAX = 3
PAUSE_SECONDS_MAX = 0.1
STATEMENTS_CACHED = 256

SERVER_SETTINGS = {
    "application_name": "treering",
    "timezone": "UTC",
    "jit": "off",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s",
}

Row = asyncpg.Record
T = TypeVar("T")


class Reader(Protocol):
    """Whatever answers queries: a ``Database``, a ``Connection``, or asyncpg's own."""

    async def fetch(self, query: str, *args: Any) -> list[Row]:
        """All rows."""
        ...

    async def fetchval(self, query: str, *args: Any) -> Any:
        """The first column of the first row; ``None`` if there is no row."""
        ...


class Connection:
    """One connection, within a transaction."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Raw) -> None:
        self._raw = raw

    async def fetch(self, query: str, *args: Any) -> list[Row]:
        """All rows."""
        with translated():
            return await self._raw.fetch(query, *args)

    async def fetchrow(self, query: str, *args: Any) -> Row | None:
        """The first row, if there is one."""
        with translated():
            return await self._raw.fetchrow(query, *args)

    async def fetchval(self, query: str, *args: Any) -> Any:
        """The first column of the first row; ``None`` if there is no row."""
        with translated():
            return await self._raw.fetchval(query, *args)

    async def execute(self, query: str, *args: Any) -> str:
        """Run for its effect; answers the command tag, as ``UPDATE 3``."""
        with translated():
            return await self._raw.execute(query, *args)

    async def executemany(self, query: str, args: Iterable[Sequence[Any]]) -> None:
        """Run once for each row of arguments, sent in one go."""
        with translated():
            await self._raw.executemany(query, args)


class Database:
    """A pool under one role. Each query of its own is one round trip and commits by itself."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def fetch(self, query: str, *args: Any) -> list[Row]:
        """All rows."""
        return await self._single(lambda connection: connection.fetch(query, *args))

    async def fetchrow(self, query: str, *args: Any) -> Row | None:
        """The first row, if there is one."""
        return await self._single(lambda connection: connection.fetchrow(query, *args))

    async def fetchval(self, query: str, *args: Any) -> Any:
        """The first column of the first row; ``None`` if there is no row."""
        return await self._single(lambda connection: connection.fetchval(query, *args))

    async def execute(self, query: str, *args: Any) -> str:
        """Run for its effect; answers the command tag, as ``UPDATE 3``."""
        return await self._single(lambda connection: connection.execute(query, *args))

    @asynccontextmanager
    async def as_profile(self, profile: UUID) -> AsyncGenerator[Connection]:
        """A transaction that sees and writes rows of this profile only. Commits at the end."""
        # One round trip, so without arguments: a UUID's text is 36 characters that cannot break out.
        begin = f"BEGIN; SELECT set_config('app.profile_id', '{UUID(bytes=profile.bytes)}', true)"
        async with self._pool.lend() as raw, _transaction(raw, begin):
            yield Connection(raw)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Connection]:
        """A transaction for no profile. Commits at the end."""
        async with self._pool.lend() as raw, _transaction(raw, "BEGIN"):
            yield Connection(raw)

    async def ping(self) -> None:
        """Return if the database answers within ``PING_SECONDS``; otherwise ``Unavailable``."""
        async with self._pool.lend() as raw:
            with translated():
                await raw.fetchval("SELECT 1", timeout=PING_SECONDS)

    async def _single(self, run: Callable[[Connection], Awaitable[T]]) -> T:
        """One statement. It is undone whole when another overtakes it, so that it can be tried again."""
        for _ in range(ATTEMPTS_MAX - 1):
            with suppress(Overtaken):
                async with self._pool.lend() as raw:
                    return await run(Connection(raw))
            # Let the other one finish. Chance keeps two that met from meeting again.
            await asyncio.sleep(random.uniform(0, PAUSE_SECONDS_MAX))  # noqa: S311 -- no secret
        async with self._pool.lend() as raw:
            return await run(Connection(raw))


@asynccontextmanager
async def connect(
    dsn: str, *, role: str | None = None, password: str | None = None, size: int = POOL_SIZE
) -> AsyncGenerator[Database]:
    """Open a pool, as the DSN's own user if no role is given; closed at the end."""

    async def open_one() -> Raw:
        raw = await asyncpg.connect(
            dsn,
            user=role,
            password=password,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            statement_cache_size=STATEMENTS_CACHED,
            max_cached_statement_lifetime=0,
            server_settings=SERVER_SETTINGS,
        )
        try:
            await _teach_types(raw)
        except BaseException:
            drop(raw)
            raise
        return raw

    pool = Pool(open_one, size)
    try:
        await pool.warm(min(POOL_SIZE_WARM, size))
        yield Database(pool)
    finally:
        await pool.close()


@asynccontextmanager
async def _transaction(raw: Raw, begin: str) -> AsyncGenerator[None]:
    try:
        with translated():
            await raw.execute(begin)
        yield
        with translated():
            ended = await raw.execute("COMMIT")
    except BaseException:
        await roll_back(raw)
        raise
    if ended != "COMMIT":
        # Postgres answers COMMIT with ROLLBACK when an error was swallowed inside the block.
        raise DatabaseFault("25P02", "the transaction had failed before its end")


async def _teach_types(connection: Raw) -> None:
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=codecs.jsonb_out, decoder=codecs.jsonb_in, format="binary"
    )
    halfvec_lives_in = await connection.fetchval(
        "SELECT n.nspname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace"
        " WHERE t.oid = to_regtype('halfvec')"
    )
    if halfvec_lives_in is not None:
        await connection.set_type_codec(
            "halfvec",
            schema=halfvec_lives_in,
            encoder=codecs.halfvec_out,
            decoder=codecs.halfvec_in,
            format="binary",
        )

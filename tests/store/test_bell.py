"""The bell between processes, on a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
import pytest

from libs.data import migrations
from libs.data.bell import NAME, SIGN_BYTES_MAX, SIGNS_MAX, SIGNS_PER_NOTICE_MAX, Bell
from libs.data.pool import Raw

CHANNEL = "test_bell"
TRIES = 500


@dataclass
class Ear:
    """What one process has heard."""

    signs: list[bytes] = field(default_factory=list[bytes])
    missed: int = 0

    def miss(self) -> None:
        """Signs may have been lost."""
        self.missed += 1


async def until(true: Callable[[], bool]) -> None:
    """Come back when something has become true."""
    for _ in range(TRIES):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never true")


@asynccontextmanager
async def listening(dsn: str) -> AsyncGenerator[tuple[Bell, Ear]]:
    """A bell that listens already."""

    async def open_one() -> Raw:
        return await asyncpg.connect(dsn, server_settings={"application_name": NAME})

    bell, ear = Bell(open_one, CHANNEL), Ear()
    async with bell.running(ear.signs.append, ear.miss):
        await until(lambda: ear.missed > 0)
        yield bell, ear


async def test_everybody_else_hears(empty_database: str) -> None:
    """Each sign once, however often and however many are rung together; not by whoever rang."""
    signs = [bytes([number]) * SIGN_BYTES_MAX for number in range(SIGNS_PER_NOTICE_MAX + 10)]
    async with listening(empty_database) as (bell, own), listening(empty_database) as (_, other):
        for sign in (*signs, *signs):
            bell.ring(sign)
        await until(lambda: len(other.signs) >= len(signs))

        assert sorted(other.signs) == sorted(signs)
        assert own.signs == []
        assert (own.missed, other.missed) == (1, 1)


async def test_a_flood_lets_everybody_look(empty_database: str) -> None:
    """More signs than are kept are not sent one by one; afterwards each is heard again."""
    async with listening(empty_database) as (bell, _), listening(empty_database) as (_, other):
        for number in range(SIGNS_MAX + 1):
            bell.ring(number.to_bytes(4, "big"))
        await until(lambda: other.missed > 1)
        bell.ring(b"after")
        await until(lambda: b"after" in other.signs)

        assert other.signs == [b"after"]


async def test_what_is_no_sign_is_passed_over(empty_database: str) -> None:
    """Others may send on the channel what they like."""
    async with listening(empty_database) as (bell, _), listening(empty_database) as (_, other):
        async with migrations.owner(empty_database) as connection:
            for notice in ("", "not base64!", "a b c"):
                await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, notice)
        bell.ring(b"sign")
        await until(lambda: b"sign" in other.signs)

        assert [sign for sign in other.signs if sign] == [b"sign"]


async def test_a_broken_connection_is_made_again_and_told(empty_database: str) -> None:
    """Whoever listens looks at everything then; what is rung afterwards is heard."""
    async with listening(empty_database) as (bell, own), listening(empty_database) as (_, other):
        async with migrations.owner(empty_database) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = $1 AND datname = current_database()",
                NAME,
            )
        await until(lambda: own.missed > 1 and other.missed > 1)
        bell.ring(b"again")
        await until(lambda: b"again" in other.signs)


async def test_a_sign_has_a_limit(empty_database: str) -> None:
    """A notice with many of them has to fit."""
    async with listening(empty_database) as (bell, _):
        with pytest.raises(ValueError, match="49 bytes"):
            bell.ring(b"x" * (SIGN_BYTES_MAX + 1))

"""What the house adds to a call: a read through the whole chain, against a bare echo and a bare row."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from uuid import UUID

import asyncpg
import grpc
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard
from treering.memory.v1 import memory_service_pb2 as memory

from bench.echo import PATH
from bench.house import House, cpu_seconds, free_port
from bench.people import Person

ROUNDS = 100
CALLS = 20
"""Calls of one kind in each round. The kinds take turns, so that a busy moment of the machine strikes all."""
CONNECT_SECONDS_MAX = 10
BARE = "bare echo and read"
ROW = "SELECT * FROM clipboard.entry WHERE profile_id = $1 AND id = $2"

Call = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Kind:
    """Calls of one kind, and the process that serves them."""

    call: Call
    pid: int
    took: list[float] = field(default_factory=list[float])
    cpu_seconds: float = 0.0

    async def few(self) -> None:
        """Make some calls, after one that does not count."""
        await self.call()
        before = cpu_seconds(self.pid)
        for _ in range(CALLS):
            started = time.perf_counter()
            await self.call()
            self.took.append((time.perf_counter() - started) * 1000)
        self.cpu_seconds += cpu_seconds(self.pid) - before


async def run(house: House, person: Person) -> dict[str, float]:
    """Medians and processor time in milliseconds, and each read's ratio to the two bare calls.

    The bare calls are made one after the other, as a read of the house has to make them: a call to a process
    that another one has just displaced from the processor's caches costs more than its repetition.
    """
    started = await person.memory.StartSession(memory.StartSessionRequest(content_session_id="overhead"))
    session = memory.GetSessionRequest(session_id=started.session.id)
    kept = await person.clipboard.Set(clipboard.SetRequest(name="overhead", value="a value"))
    entry = clipboard.GetRequest(name="overhead")
    connection = await asyncpg.connect(house.dsn)
    place = UUID(person.profile_id), UUID(kept.entry.id)
    async with _echo() as (say, pid):
        content = entry.SerializeToString()

        async def bare() -> None:
            await say(content)
            await connection.fetchrow(ROW, *place)

        async def get_entry() -> None:
            await person.clipboard.Get(entry)

        async def get_session() -> None:
            await person.memory.GetSession(session)

        kinds = {
            BARE: Kind(bare, pid),
            "clipboard Get": Kind(get_entry, house.pid),
            "GetSession": Kind(get_session, house.pid),
        }
        for _ in range(ROUNDS):
            for kind in kinds.values():
                await kind.few()
    await connection.close()
    return _page(kinds)


def _page(kinds: Mapping[str, Kind]) -> dict[str, float]:
    medians = {name: median(kind.took) for name, kind in kinds.items()}
    page: dict[str, float] = {}
    for name, kind in kinds.items():
        page |= {f"{name} ms": medians[name], f"{name} cpu ms": kind.cpu_seconds / len(kind.took) * 1000}
    return page | {f"{name} ratio": took / medians[BARE] for name, took in medians.items() if name != BARE}


@asynccontextmanager
async def _echo() -> AsyncGenerator[tuple[grpc.aio.UnaryUnaryMultiCallable[bytes, bytes], int]]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.echo", str(port)])  # noqa: S603, ASYNC220
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            say = channel.unary_unary(PATH)
            await say(b"", wait_for_ready=True, timeout=CONNECT_SECONDS_MAX)
            yield say, process.pid
    finally:
        process.terminate()
        process.wait(CONNECT_SECONDS_MAX)

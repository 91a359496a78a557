"""What the house adds to a call: a read through the whole chain, against a bare echo and a bare row."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import grpc
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard
from treering.memory.v1 import memory_service_pb2 as memory

from bench.echo import PATH
from bench.house import House, cpu_seconds, free_port
from bench.people import Person
from bench.timing import timed

CALLS = 2000
CONNECT_SECONDS_MAX = 10
ROW = "SELECT * FROM memory.session WHERE profile_id = $1 AND id = $2"

Call = Callable[[int], Awaitable[object]]


async def run(house: House, person: Person) -> dict[str, float]:
    """Medians and processor time in milliseconds, and each read's ratio to the two bare calls together."""
    started = await person.memory.StartSession(memory.StartSessionRequest(content_session_id="overhead"))
    session = memory.GetSessionRequest(session_id=started.session.id)
    await person.clipboard.Set(clipboard.SetRequest(name="overhead", value="a value"))
    entry = clipboard.GetRequest(name="overhead")

    async def get_session(_: int) -> object:
        return await person.memory.GetSession(session)

    async def get_entry(_: int) -> object:
        return await person.clipboard.Get(entry)

    connection = await asyncpg.connect(house.dsn)

    async def read_row(_: int) -> object:
        return await connection.fetchrow(ROW, UUID(person.profile_id), UUID(started.session.id))

    async with _echo() as (say, pid):
        content = session.SerializeToString()
        echo, echo_cpu = await _measured(lambda _: say(content), pid)
    row = (await timed(read_row, CALLS)).p50_ms
    await connection.close()
    page = {"bare echo ms": echo, "bare echo cpu ms": echo_cpu, "bare read ms": row}
    for name, call in (("clipboard Get", get_entry), ("GetSession", get_session)):
        ours, cpu = await _measured(call, house.pid)
        page |= {f"{name} ms": ours, f"{name} cpu ms": cpu, f"{name} ratio": ours / (echo + row)}
    return page


async def _measured(call: Call, pid: int) -> tuple[float, float]:
    """The median of a call and the processor time that the process spent on each, in milliseconds."""
    before = cpu_seconds(pid)
    took = await timed(call, CALLS)
    return took.p50_ms, (cpu_seconds(pid) - before) / CALLS * 1000


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

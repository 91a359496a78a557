"""What the house adds to a call: reading a session, against a bare echo and a bare read of its row."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import grpc
from treering.memory.v1 import memory_service_pb2 as pb

from bench.echo import PATH
from bench.house import House, cpu_seconds, free_port
from bench.people import Person
from bench.timing import timed

CALLS = 2000
CONNECT_SECONDS_MAX = 10
ROW = "SELECT * FROM memory.session WHERE profile_id = $1 AND id = $2"


async def run(house: House, person: Person) -> dict[str, float]:
    """Medians in milliseconds, the ratio of ours to the two bare ones together, and processor time a call."""
    started = await person.memory.StartSession(pb.StartSessionRequest(content_session_id="overhead"))
    request = pb.GetSessionRequest(session_id=started.session.id)

    async def get(_: int) -> pb.GetSessionResponse:
        return await person.memory.GetSession(request)

    before = house.cpu_seconds()
    ours = await timed(get, CALLS)
    cpu = house.cpu_seconds() - before
    connection = await asyncpg.connect(house.dsn)

    async def fetch(_: int) -> object:
        return await connection.fetchrow(ROW, person.profile_id, started.session.id)

    read = await timed(fetch, CALLS)
    await connection.close()
    async with _echo() as (say, pid):
        content = request.SerializeToString()
        before = cpu_seconds(pid)
        echo = await timed(lambda _: say(content), CALLS)
        echo_cpu = cpu_seconds(pid) - before
    return {
        "get_session_ms": ours.p50_ms,
        "bare_echo_ms": echo.p50_ms,
        "bare_read_ms": read.p50_ms,
        "ratio": ours.p50_ms / (echo.p50_ms + read.p50_ms),
        "get_session_cpu_ms": cpu / CALLS * 1000,
        "bare_echo_cpu_ms": echo_cpu / CALLS * 1000,
    }


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

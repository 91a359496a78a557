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
from bench.house import House, free_port
from bench.people import Person
from bench.timing import timed

CALLS = 2000
CONNECT_SECONDS_MAX = 10
ROW = "SELECT * FROM memory.session WHERE profile_id = $1 AND id = $2"


async def run(house: House, person: Person) -> dict[str, float]:
    """Medians in milliseconds, and the ratio of ours to the two bare ones together."""
    started = await person.memory.StartSession(pb.StartSessionRequest(content_session_id="overhead"))
    request = pb.GetSessionRequest(session_id=started.session.id)

    async def get(_: int) -> pb.GetSessionResponse:
        return await person.memory.GetSession(request)

    ours = await timed(get, CALLS)
    connection = await asyncpg.connect(house.dsn)

    async def fetch(_: int) -> object:
        return await connection.fetchrow(ROW, person.profile_id, started.session.id)

    read = await timed(fetch, CALLS)
    await connection.close()
    async with _echo() as say:
        content = request.SerializeToString()
        echo = await timed(lambda _: say(content), CALLS)
    return {
        "get_session_ms": ours.p50_ms,
        "bare_echo_ms": echo.p50_ms,
        "bare_read_ms": read.p50_ms,
        "ratio": ours.p50_ms / (echo.p50_ms + read.p50_ms),
    }


@asynccontextmanager
async def _echo() -> AsyncGenerator[grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.echo", str(port)])  # noqa: S603, ASYNC220
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            say = channel.unary_unary(PATH)
            await say(b"", wait_for_ready=True, timeout=CONNECT_SECONDS_MAX)
            yield say
    finally:
        process.terminate()
        process.wait(CONNECT_SECONDS_MAX)

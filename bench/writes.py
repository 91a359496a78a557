"""What a write asks of Postgres, and how long it takes: round trips and commits for each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import asyncpg
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard
from treering.results.v1 import results_service_pb2 as results

from bench.house import House
from bench.people import Person
from bench.timing import timed

CALLS = 300
COMMITS = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
"""Every transaction that writes takes the next number."""

Call = Callable[[int], Awaitable[object]]


async def run(house: House, person: Person) -> dict[str, dict[str, float]]:
    """For each write its median, and what it asked for.

    Included is what the house does beside: a few chores, and the bell that tells other replicas of results.
    """
    return {name: await _counted(house, call) for name, call in _writes(person).items()}


def _writes(person: Person) -> Mapping[str, Call]:
    async def put(number: int) -> object:
        return await person.clipboard.Set(clipboard.SetRequest(name=f"entry {number}", value="a value"))

    async def push(_: int) -> object:
        return await person.clipboard.Push(clipboard.PushRequest(value="a value"))

    async def pop(_: int) -> object:
        return await person.clipboard.Pop(clipboard.PopRequest())

    async def put_result(number: int) -> object:
        named = results.PutResultRequest(workflow_id="bench", task_id=f"task {number}", content="a value")
        return await person.results.PutResult(named)

    return {"Set": put, "Push": push, "Pop": pop, "PutResult": put_result}


async def _counted(house: House, call: Call) -> dict[str, float]:
    assert house.relay  # noqa: S101 -- the section opens its house so
    connection = await asyncpg.connect(house.dsn)
    try:
        await call(-1)
        commits, trips = int(await connection.fetchval(COMMITS)), house.relay.trips
        took = await timed(call, CALLS, warm=0)
        trips = house.relay.trips - trips
        return {
            "p50 ms": took.p50_ms,
            "round trips": trips / CALLS,
            "commits": (int(await connection.fetchval(COMMITS)) - commits) / CALLS,
        }
    finally:
        await connection.close()

"""Waiting for results: nobody is missed, and nobody costs a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as run

from libs.data import migrations
from libs.data.bell import NAME
from tests.rig.house import Caller, House, opened_house, replica_of
from tests.rig.postgres import Cluster
from tests.rig.refusals import refused
from tests.rig.results import EXPIRED, NOT_READY, finished, put, started, waited

WAITERS = 100
TRIES = 500


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Come back when something has become true."""
    for _ in range(TRIES):
        if await true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never true")


async def connections(house_site: House, name: str = "treering%") -> int:
    """Connections that the house has, by what they call themselves."""
    async with migrations.owner(house_site.dsn) as connection:
        found = await connection.fetch(
            "SELECT FROM pg_stat_activity WHERE usename = 'treering_results'"
            " AND application_name LIKE $1 AND datname = current_database()",
            name,
        )
    return len(found)


async def test_a_hundred_wait_on_one_connection(house: Caller, house_site: House) -> None:
    """They are all woken by their results, and meanwhile the database has one listener."""
    await started(house)
    waiting = [asyncio.create_task(waited(house, f"t{number}", 60)) for number in range(WAITERS)]
    await asyncio.sleep(1)
    listeners, all_of_them = await connections(house_site, NAME), await connections(house_site)
    await asyncio.gather(*(put(house, f"t{number}", str(number)) for number in range(WAITERS)))
    results = await asyncio.gather(*waiting)

    assert listeners == 1
    assert all_of_them <= 11
    assert [result.content for result in results] == [str(number) for number in range(WAITERS)]


async def test_a_wait_ends(house: Caller) -> None:
    """After its timeout with not ready; at once when the result is there or the run is cancelled."""
    begun = await started(house)
    assert await refused(waited(house, timeout=0)) == NOT_READY
    assert await refused(waited(house, timeout=1)) == NOT_READY
    waiting = asyncio.create_task(refused(waited(house, "never", 60)))
    await house.runs.CancelRun(run.CancelRunRequest(run_id=begun.id))
    assert (await waiting)[1] == "RUN_CANCELLED"


async def test_the_final_result_is_waited_for(house: Caller) -> None:
    """It comes when the run is finished."""
    begun = await started(house)
    waiting = asyncio.create_task(waited(house, "", 60))
    await put(house)
    await finished(house, begun.id)

    assert (await waiting).content == "c"


async def test_no_wake_up_is_missed(house: Caller) -> None:
    """Whoever comes before, with, or after a put is answered with it."""
    await started(house)

    async def one(number: int) -> str:
        task = f"t{number}"
        waiting = asyncio.create_task(waited(house, task, 60))
        for _ in range(number % 7):
            await asyncio.sleep(0)
        await put(house, task, task)
        return (await waiting).content

    assert await asyncio.gather(*(one(number) for number in range(200))) == [f"t{n}" for n in range(200)]


async def test_a_lost_listener_is_replaced(house: Caller, house_site: House) -> None:
    """When its connection is cut, whoever waits is woken all the same, and there is a listener again."""
    await started(house)
    waiting = asyncio.create_task(waited(house, "web", 60))
    async with migrations.owner(house_site.dsn) as connection:
        await connection.fetchval(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"
            " AND datname = current_database()",
            NAME,
        )
    await put(house)

    assert (await waiting).content == "c"

    async def listens() -> bool:
        return await connections(house_site, NAME) == 1

    await until(listens)


async def test_results_are_watched(house: Caller) -> None:
    """Those that are there, then each as it arrives, then that the run has ended; a cursor goes on."""
    begun = await started(house)
    await put(house, "a")
    metadata = (("authorization", f"Bearer {house.secret}"),)

    def watch(after: int = 0, timeout: int = 60) -> AsyncIterator[pb.WatchResultsResponse]:
        request = pb.WatchResultsRequest(workflow_id="w", after=after, timeout=timeout)
        return aiter(house.results.WatchResults(request, metadata=metadata))

    stream = watch()
    first = await anext(stream)
    await put(house, "b")
    second = await anext(stream)
    await finished(house, begun.id)
    last = [message async for message in stream]

    assert [first.result.task_id, second.result.task_id] == ["a", "b"]
    assert [(each.state, each.HasField("result")) for each in last] == [(run_pb2.RUN_STATE_SUCCEEDED, False)]
    assert last[0].cursor == second.cursor
    again = [message async for message in watch(first.cursor)]
    assert [message.result.task_id for message in again] == ["b", ""]


async def test_a_watch_ends_with_its_run(house: Caller) -> None:
    """A run that expires meanwhile is told of."""
    await started(house, ttl_seconds=1)
    metadata = (("authorization", f"Bearer {house.secret}"),)
    request = pb.WatchResultsRequest(workflow_id="w", timeout=60)

    async def watch() -> list[pb.WatchResultsResponse]:
        return [message async for message in house.results.WatchResults(request, metadata=metadata)]

    assert await refused(watch()) == EXPIRED


async def test_a_wait_is_heard_by_another_replica(cluster: Cluster) -> None:
    """What is put at one house wakes who waits at another, on the same database."""
    async with opened_house(cluster) as first, replica_of(first) as second:
        here = await first.caller()
        there = second.open(here.profile_id, here.key_id, here.secret)
        await started(here)
        waiting = [asyncio.create_task(waited(there, f"t{number}", 60)) for number in range(10)]
        for number in range(10):
            await put(here, f"t{number}", str(number))

        results = await asyncio.gather(*waiting)
        assert [result.content for result in results] == [str(number) for number in range(10)]
        assert await connections(first, NAME) == 2

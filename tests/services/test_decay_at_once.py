"""Eight sweepers at once, some of them killed, half of them with clocks 400 days ahead."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import UUID

import pytest
from treering.decay.v1 import decay_service_pb2 as pb
from treering.memory.v1 import memory_service_pb2 as memory_pb

from libs.data import migrations
from services.decay.ageing.sweeper import Sweeper
from services.memory.memories.rings import Ring
from tests.rig.ageing import QUIET, grow_older, leases, promote, remembered, stages, sweeper_of
from tests.rig.house import Caller, House, opened_house
from tests.rig.postgres import Cluster

DAY = timedelta(days=1)
SWEEPERS = 8
KILLED = 3
MEMORIES = 400
FULL, COMPRESSED = 1, 2
SECONDS_MAX = 60


@pytest.fixture(scope="module")
async def quiet_house(cluster: Cluster) -> AsyncGenerator[House]:
    """A house in which nothing is swept on its own."""
    async with opened_house(cluster, **QUIET) as running:
        yield running


@pytest.fixture
async def sweepers(quiet_house: House) -> AsyncGenerator[list[Sweeper]]:
    """Eight replicas, the odd ones with clocks ahead."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(sweeper_of(quiet_house, ahead=400 * DAY * (number % 2)))
            for number in range(SWEEPERS)
        ]


async def many(caller: Caller, count: int) -> list[UUID]:
    """Memories in ring PRACTICE, in sessions of a hundred."""
    ids: list[UUID] = []
    for first in range(0, count, 100):
        ids += await remembered(caller, *(f"memory {first + number}" for number in range(100)))
    return ids


async def drop_leases(dsn: str) -> None:
    """Let the leases of who was killed end."""
    async with migrations.owner(dsn) as connection:
        await connection.execute("UPDATE memory.lease SET until = now() - interval '1 second'")


async def test_nobody_moves_two_steps(quiet_house: House, sweepers: list[Sweeper]) -> None:
    """D2, D4, D7: each moves once, nobody who was read, no shock; no lease is left."""
    caller = await quiet_house.caller()
    ids = await many(caller, MEMORIES)
    shocks, touched = ids[:20], ids[20:40]
    await promote(quiet_house.dsn, Ring.SHOCK, *shocks)
    await grow_older(quiet_house.dsn, 3000 * DAY, *ids)
    await caller.memory.GetMemories(memory_pb.GetMemoriesRequest(memory_ids=[str(one) for one in touched]))
    await asyncio.sleep(2)  # until the count of reads is written
    chance = random.Random(7)  # noqa: S311 -- no secret

    turns = [asyncio.create_task(each.sweep_all()) for each in sweepers]
    await asyncio.sleep(0.05)
    for turn in chance.sample(turns, KILLED):
        turn.cancel()
    ended = await asyncio.gather(*turns, return_exceptions=True)
    await drop_leases(quiet_house.dsn)
    await sweepers[0].sweep_all()

    assert all(each is None or isinstance(each, asyncio.CancelledError) for each in ended)
    assert await stages(caller, shocks) == [FULL] * len(shocks)
    assert await stages(caller, touched) == [FULL] * len(touched)
    assert await stages(caller, ids[40:]) == [COMPRESSED] * (MEMORIES - 40)
    assert await leases(quiet_house.dsn) == 0


async def test_reads_and_sweeps_have_one_order(quiet_house: House, sweepers: list[Sweeper]) -> None:
    """D4: a memory that was young when it was last looked at was not shrunk after that, whoever raced."""
    caller = await quiet_house.caller()
    ids = await many(caller, 100)
    await grow_older(quiet_house.dsn, 8 * DAY, *ids)

    async def read(one: UUID) -> None:
        await caller.memory.GetMemory(memory_pb.GetMemoryRequest(memory_id=str(one)))

    await asyncio.gather(*(read(one) for one in ids), *(each.sweep_all() for each in sweepers))
    await asyncio.sleep(2)
    first = await stages(caller, ids)
    async with migrations.owner(quiet_house.dsn) as connection:
        rows = await connection.fetch(
            "SELECT stage, version, greatest(used_at, staged_at) > now() - interval '1 minute' AS young"
            " FROM memory.memory WHERE id = ANY ($1)",
            ids,
        )
    await asyncio.gather(*(each.sweep_all() for each in sweepers))

    assert {tuple(row) for row in rows} <= {(FULL, 1, True), (COMPRESSED, 2, True)}
    assert await stages(caller, ids) == first


async def test_everybody_sweeping_one_profile_moves_each_once(quiet_house: House) -> None:
    """Sixteen calls of Sweep at once: together they moved each memory once, and say so."""
    caller = await quiet_house.caller()
    ids = await many(caller, 300)
    await grow_older(quiet_house.dsn, 8 * DAY, *ids)

    answers = await asyncio.gather(*(caller.decay.Sweep(pb.SweepRequest()) for _ in range(16)))

    assert sum(each.sweep.compressed_count for each in answers) == 300
    assert await stages(caller, ids) == [COMPRESSED] * 300


async def test_workspaces_do_not_wait_for_one_another(quiet_house: House, sweepers: list[Sweeper]) -> None:
    """One turn goes through every workspace, each under its own policy."""
    callers = [await quiet_house.caller() for _ in range(12)]
    kept = [(await remembered(caller, "x"))[0] for caller in callers]
    await grow_older(quiet_house.dsn, 8 * DAY, *kept)
    patient = callers[3]
    policy = (await patient.http.get("/v1/decay/policy")).json()["policy"] | {
        "full": {"tokens": 500, "duration": "864000s"}
    }
    await patient.http.put("/v1/decay/policy", json={"policy": policy})

    await sweepers[0].sweep_all()

    found = [(await stages(caller, [one]))[0] for caller, one in zip(callers, kept, strict=True)]
    assert found == [FULL if number == 3 else COMPRESSED for number in range(12)]

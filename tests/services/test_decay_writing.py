"""Sweeps with a language model: its words where they hold, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID

import pytest
from starlette.responses import Response
from treering.decay.v1 import decay_service_pb2 as pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as memory_pb

from libs.data import migrations
from tests.rig.ageing import QUIET, grow_older, leases, remembered
from tests.rig.house import Caller, House, opened_house
from tests.rig.postgres import Cluster
from tests.rig.writing import Provider, provider

WEEK = timedelta(days=8)
LONG = "The billing job failed on 2026-03-14 for want of an index. " + " ".join(
    f"Attempt {number} waited for the lock of worker {number * 3}." for number in range(1, 60)
)
SHORT = "The billing job failed on 2026-03-14 for want of an index."
LOCKED = """
SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND c.relnamespace = 'memory'::regnamespace
"""


@pytest.fixture
async def writer() -> AsyncGenerator[Provider]:
    """A provider that shortens well."""
    async with provider() as ours:
        ours.write = lambda system, material: SHORT
        yield ours


@pytest.fixture
async def house(cluster: Cluster, writer: Provider) -> AsyncGenerator[House]:
    """A house that asks it, and in which nothing is swept on its own."""
    async with opened_house(cluster, **QUIET, **writer.settings) as running:
        yield running


async def aged(house: House) -> tuple[Caller, UUID]:
    """Somebody's long memory, due."""
    caller = await house.caller()
    [memory_id] = await remembered(caller, LONG)
    await grow_older(house.dsn, WEEK, memory_id)
    return caller, memory_id


async def read(caller: Caller, memory_id: UUID) -> memory_pb2.Memory:
    """The memory as it is."""
    return (await caller.memory.GetMemory(memory_pb.GetMemoryRequest(memory_id=str(memory_id)))).memory


async def test_the_models_words_are_what_is_left(house: House, writer: Provider) -> None:
    """At every length; a model that fails leaves the sentences worth keeping, at the same stage."""
    caller, memory_id = await aged(house)
    swept = (await caller.decay.Sweep(pb.SweepRequest())).sweep
    memory = await read(caller, memory_id)

    assert (swept.compressed_count, memory.stage) == (1, memory_pb2.STAGE_COMPRESSED)
    assert {memory.content, memory.summary, memory.essence} == {SHORT}

    writer.broken = Response(status_code=503)
    other, other_id = await aged(house)
    await other.decay.Sweep(pb.SweepRequest())
    kept = await read(other, other_id)
    assert kept.stage == memory_pb2.STAGE_COMPRESSED
    assert SHORT in kept.content != SHORT
    assert kept.content_tokens <= 250


async def test_nothing_is_held_while_it_writes(house: House, writer: Provider) -> None:
    """D3: the memory can be read and changed meanwhile, and what was changed is not overwritten."""
    caller, memory_id = await aged(house)
    writer.hangs = True
    sweeping = asyncio.ensure_future(caller.decay.Sweep(pb.SweepRequest()))
    while not writer.asked:  # noqa: ASYNC110
        await asyncio.sleep(0.05)

    async with migrations.owner(house.dsn) as connection:
        held = await connection.fetchval(LOCKED)
    request = memory_pb.ReinforceRequest(memory_id=str(memory_id), outcome=memory_pb2.OUTCOME_SUCCESS)
    reinforced = (await caller.memory.Reinforce(request)).memory
    still_going = not sweeping.done()
    writer.over.set()
    swept = (await sweeping).sweep

    assert (held, still_going) == (0, True)
    assert reinforced.content == LONG
    assert (swept.compressed_count, await leases(house.dsn)) == (0, 0)
    assert (await read(caller, memory_id)).content == LONG

"""Time for memories: moments moved back, or the present that ageing sees moved on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.clock import system_clock
from libs.data import migrations
from libs.data.postgres import connect
from libs.rpc import telemetry
from libs.rpc.caller import Signer
from libs.rpc.channels import Remote
from libs.rpc.telemetry import Telemetry
from services.decay.ageing.lifecycle import Lifecycle
from services.decay.ageing.store import Store
from services.decay.ageing.sweeper import Sweeper
from services.decay.service import SCHEMA
from services.memory.memories.rings import Ring
from tests.rig.house import Caller, House
from tests.rig.postgres import MASTER

QUIET = {"TREERING_DECAY_SWEEP_SECONDS": "86400"}
"""Settings of a house in which nothing is swept on its own."""


async def promote(dsn: str, ring: Ring, *ids: UUID) -> None:
    """Put memories into a ring, all of them where none is named."""
    async with migrations.owner(dsn) as connection:
        await connection.execute(
            "UPDATE memory.memory SET ring = $1, successes = 9"
            " WHERE cardinality($2::uuid[]) = 0 OR id = ANY ($2)",
            ring,
            ids,
        )


async def grow_older(dsn: str, by: timedelta, *ids: UUID) -> None:
    """Let time pass for memories, for all of them where none is named."""
    async with migrations.owner(dsn) as connection:
        await connection.execute(
            "UPDATE memory.memory SET used_at = used_at - $1::interval, staged_at = staged_at - $1::interval"
            " WHERE cardinality($2::uuid[]) = 0 OR id = ANY ($2)",
            by,
            ids,
        )


async def set_present(dsn: str, moment: datetime) -> None:
    """Stop the clock that ageing goes by at a moment."""
    async with migrations.owner(dsn) as connection:
        quoted = await connection.fetchval("SELECT quote_literal($1::timestamptz)", moment)
        await connection.execute(
            "CREATE OR REPLACE FUNCTION memory.present() RETURNS timestamptz LANGUAGE sql STABLE"
            f" RETURN {quoted}::timestamptz"
        )


async def leases(dsn: str) -> int:
    """How many memories somebody is working on."""
    async with migrations.owner(dsn) as connection:
        [row] = await connection.fetch("SELECT count(*) FROM memory.lease")
    return row["count"]


async def remembered(caller: Caller, *texts: str, ring: Ring | None = Ring.PRACTICE) -> list[UUID]:
    """Memories of these texts, in a session of their own; in ring FRESH if no other is given."""
    session = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="ageing"))
    observations = [pb.Observation(content=text, type=memory_pb2.OBSERVATION_TYPE_INSIGHT) for text in texts]
    kept = await caller.memory.ObserveBatch(
        pb.ObserveBatchRequest(session_id=session.session.id, observations=observations)
    )
    ids = [UUID(memory.id) for memory in kept.memories]
    if ring is not None:
        await promote(caller.house.dsn, ring, *ids)
    return ids


async def stages(caller: Caller, ids: Sequence[UUID]) -> list[int]:
    """The stage of each memory; 5 for one that is gone. Read without touching any."""
    async with migrations.owner(caller.house.dsn) as connection:
        rows = await connection.fetch("SELECT id, stage FROM memory.memory WHERE id = ANY ($1)", ids)
    found = {row["id"]: row["stage"] for row in rows}
    return [found.get(one, memory_pb2.STAGE_FORGOTTEN) for one in ids]


@asynccontextmanager
async def sweeper_of(house: House, ahead: timedelta = timedelta()) -> AsyncGenerator[Sweeper]:
    """One more sweeper for a house, as another replica has it; its clock may be ahead."""
    signer = Signer(MASTER.derive, lambda: system_clock() + ahead)
    remote = Remote(house.grpc, signer, Telemetry(telemetry.Settings()))
    try:
        async with connect(
            house.dsn, role=SCHEMA.role, password=MASTER.password(SCHEMA.role), size=2
        ) as database:
            yield Sweeper(Lifecycle(remote), Store(database))
    finally:
        await remote.close()

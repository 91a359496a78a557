"""Ageing: what a sweep costs for each memory that is due, and whether what was shortened is still found.

Years pass by moving moments back in the database. Memories that are not due are put in beside it, as copies
of one whose content nobody reads: they weigh on tables and indexes as any others do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
from treering.decay.v1 import decay_service_pb2 as pb
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as memory_pb

from bench import locomo
from bench.house import House
from bench.people import Person
from bench.texts import sentence

QUIET = {"TREERING_DECAY_SWEEP_SECONDS": "86400"}
"""Nothing is swept but what is measured."""
DUE = 2_000
BATCH = 100
ROUNDS = 3
PROFILES = 1_000
PRACTICE = 3
STAGES = ("full", "compressed", "summary", "essence")
COPIED = """
INSERT INTO memory.memory (
    profile_id, id, session_id, position, ring, type, source, occurred_at, created_at, updated_at, touched_at,
    content_mac, length, content_tokens, summary_tokens, essence_tokens, content_sealed, workspace_id, stage)
SELECT p.id, gen_random_uuid(), p.session_id, n, m.ring, m.type, m.source, now(), now(), now(), now(),
    decode(md5(p.id::text || n::text), 'hex'), 0, m.content_tokens, m.summary_tokens, m.essence_tokens,
    m.content_sealed, m.workspace_id, 1 + n % 4
FROM (SELECT * FROM memory.memory LIMIT 1) m, unnest($1::uuid[], $2::uuid[]) p (id, session_id),
    generate_series($3::integer, $4::integer) n
"""
SESSIONS = """
INSERT INTO memory.session (profile_id, id, name_mac, name_sealed, started_at, active_at)
SELECT gen_random_uuid(), gen_random_uuid(), 'bench', 'bench', now(), now() FROM generate_series(1, $1)
RETURNING profile_id, id
"""


async def cost(house: House, one: Person, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Milliseconds that a sweep takes for each of 2,000 due memories, among ever more that are not."""
    page: dict[str, Any] = {}
    connection = await asyncpg.connect(house.dsn)
    try:
        await _observe(one, 0, 1)
        sessions = await connection.fetch(SESSIONS, PROFILES)
        there = 0
        for size in sizes:
            await _copy(connection, sessions, there, size)
            there = size
            page[f"{size:,} memories: ms for each due"] = await _sweep(connection, one, size)
    finally:
        await connection.close()
    first, *_, last = page.values()
    return page | {"ratio": last / first}


async def recall(path: Path, newcomer: Callable[[], Awaitable[Person]], house: House) -> dict[str, Any]:
    """LoCoMo recall@10 with everything whole, and again after all of it has come to each stage."""
    conversations = await locomo.loaded(path, newcomer)
    connection = await asyncpg.connect(house.dsn)
    page: dict[str, Any] = {}
    try:
        for stage in STAGES:
            if page:
                await _grow_old(connection)
                for each in conversations:
                    await _sweep_all(each.person)
            answers = [one for one in await locomo.answers(conversations) if one.category in locomo.COUNTED]
            [[tokens]] = await connection.fetch("SELECT avg(content_tokens)::float8 FROM memory.memory")
            page[stage] = {
                "recall@10": sum(one.recall(10) for one in answers) / len(answers),
                "tokens a memory": tokens,
            }
    finally:
        await connection.close()
    return page


async def _observe(one: Person, first: int, count: int) -> None:
    started = await one.memory.StartSession(memory_pb.StartSessionRequest(content_session_id=f"{first}"))
    for at in range(first, first + count, BATCH):
        observations = [
            memory_pb.Observation(content=sentence(number), type=memory.OBSERVATION_TYPE_INSIGHT)
            for number in range(at, min(at + BATCH, first + count))
        ]
        await one.memory.ObserveBatch(
            memory_pb.ObserveBatchRequest(session_id=started.session.id, observations=observations)
        )


async def _copy(connection: Any, sessions: list[Any], there: int, size: int) -> None:
    """Put in as many as are missing, spread over a thousand profiles."""
    profiles, ids = ([row[name] for row in sessions] for name in ("profile_id", "id"))
    for position in range(there // PROFILES + 1, size // PROFILES + 1, 10):
        last = min(position + 9, size // PROFILES)
        await connection.execute(COPIED, profiles, ids, position, last, timeout=600)
        print(f"   {last * PROFILES:,} of {size:,} memories", file=sys.stderr, flush=True)
    await connection.execute("VACUUM (ANALYZE) memory.memory", timeout=600)


async def _sweep(connection: Any, one: Person, size: int) -> float:
    """The best of a few sweeps, each of 2,000 that have just come of age."""
    took: list[float] = []
    for turn in range(ROUNDS):
        await _observe(one, size * 10 + turn * DUE, DUE)
        await _grow_old(connection, one.profile_id)
        started = time.perf_counter()
        swept = (await one.decay.Sweep(pb.SweepRequest())).sweep
        took.append((time.perf_counter() - started) * 1000 / DUE)
        if swept.compressed_count < DUE:
            raise SystemExit(f"A sweep moved {swept.compressed_count} of {DUE}.")
        # What has been measured once is not measured again.
        await connection.execute("DELETE FROM memory.memory WHERE profile_id = $1", one.profile_id)
    return min(took)


async def _sweep_all(one: Person) -> None:
    while not (await one.decay.Sweep(pb.SweepRequest(), timeout=60)).sweep.complete:
        pass


async def _grow_old(connection: Any, profile_id: str | None = None) -> None:
    """Let a thousand days pass, for a profile or for all. Shocks, which never grow old, become practices."""
    async with connection.transaction():
        # Without the trigger that guards shocks, in this statement only: others need their foreign keys.
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            "UPDATE memory.memory SET ring = $1, used_at = used_at - interval '1000 days',"
            " staged_at = staged_at - interval '1000 days' WHERE $2::uuid IS NULL OR profile_id = $2",
            PRACTICE,
            profile_id,
            timeout=600,
        )

"""How many memories a profile has, counted as they come and go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from uuid import UUID, uuid4

import pytest

from libs.data import installation, migrations
from libs.language.tokens import TokenCounter
from services.memory.memories.memory import MemoriesFull, MemoryNotFound
from services.memory.service import SCHEMA
from tests.rig.memory import Memories, a_raw, memories_in
from tests.rig.postgres import MASTER, Cluster

LANDLORD = "treering_landlord"
FIRST_WITH_QUOTA = 4
COUNTS = """
SELECT coalesce(u.profile_id, m.profile_id) AS profile_id, u.memories, coalesce(m.memories, 0) AS there
FROM memory.usage u
FULL JOIN (SELECT profile_id, count(*) AS memories FROM memory.memory GROUP BY 1) m USING (profile_id)
"""


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    """Built once."""
    return TokenCounter()


@pytest.fixture
async def room(cluster: Cluster, counter: TokenCounter) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, counter) as memories:
        yield memories


async def counted(room: Memories) -> dict[UUID, int]:
    """What is counted of each profile, which must be what is there."""
    rows = await room.rows(COUNTS)
    assert [row["memories"] for row in rows] == [row["there"] for row in rows]
    return {row["profile_id"]: row["memories"] for row in rows}


async def test_the_count_is_right_after_any_turmoil(room: Memories) -> None:
    """Two profiles, three sessions each, texts that meet: observed, in batches, and deleted, all at once."""
    chance = random.Random(7)  # noqa: S311 -- the same turmoil each time
    profiles = [uuid4(), uuid4()]
    sessions = {profile: [await room.session(profile) for _ in range(3)] for profile in profiles}
    room.memories_max = 15

    async def churn() -> None:
        profile = chance.choice(profiles)
        session = chance.choice(sessions[profile])
        texts = [f"text {chance.randrange(12)}" for _ in range(chance.randint(1, 4))]
        try:
            kept = await room.observe_all(profile, session, *map(a_raw, texts))
            if chance.random() < 0.6:
                await room.rings.delete(profile, chance.choice(kept).memory.id, None)
        except (MemoriesFull, MemoryNotFound):
            return

    for _ in range(6):
        await asyncio.gather(*(churn() for _ in range(24)))
        assert all(count <= room.memories_max for count in (await counted(room)).values())

    assert set(await counted(room)) == set(profiles)


async def test_the_last_places_go_to_as_many_as_there_are(room: Memories) -> None:
    """Batches of different sizes race for ten places: no more are given, and a refusal leaves nothing."""
    profile = uuid4()
    room.memories_max = 10
    sessions = [await room.session(profile) for _ in range(12)]
    batches = [[a_raw(f"{at} {n}") for n in range(1 + at % 4)] for at in range(12)]

    answers = await asyncio.gather(
        *(
            room.observe_all(profile, session, *batch)
            for session, batch in zip(sessions, batches, strict=True)
        ),
        return_exceptions=True,
    )

    kept = sum(len(answer) for answer in answers if isinstance(answer, list))
    refusals = [answer for answer in answers if not isinstance(answer, list)]
    assert await counted(room) == {profile: kept}
    assert 7 <= kept <= 10
    for refusal in refusals:
        assert isinstance(refusal, MemoriesFull)
        assert refusal.metadata["limit"] == "10"


async def test_who_only_repeats_does_not_wait_for_the_count(room: Memories) -> None:
    """Another call holds the profile's count, and nothing new is added: it is not needed."""
    profile = uuid4()
    session = await room.session(profile)
    await room.observe(profile, session, "there")

    async with migrations.owner(room.dsn) as other, other.transaction():
        await other.execute("UPDATE memory.usage SET memories = memories WHERE profile_id = $1", profile)
        again = await room.observe(profile, session, "there")

    assert again.reinforced


async def test_whatever_deletes_memories_is_counted(room: Memories) -> None:
    """Also what knows nothing of quotas."""
    profile, other = uuid4(), uuid4()
    for each in (profile, other):
        session = await room.session(each)
        await room.observe_all(each, session, *(a_raw(str(n)) for n in range(5)))

    await room.rows("DELETE FROM memory.memory WHERE profile_id = $1 AND position > 2", profile)

    assert await counted(room) == {profile: 2, other: 5}


async def test_what_was_there_before_is_counted(cluster: Cluster) -> None:
    """By an owner who is no superuser: row-level security holds for it too, and afterwards again."""
    one, two = uuid4(), uuid4()
    async with cluster.fresh() as dsn:
        await installation.prepare(dsn, MASTER)
        async with migrations.owner(dsn) as connection:
            await connection.execute(
                f"DROP ROLE IF EXISTS {LANDLORD}; CREATE ROLE {LANDLORD};"
                f"CREATE SCHEMA memory AUTHORIZATION {LANDLORD}; GRANT USAGE ON SCHEMA public TO {LANDLORD};"
                f"SET ROLE {LANDLORD}"
            )
            found = migrations.read(SCHEMA.package, SCHEMA.schema)
            for migration in found:
                if migration.version == FIRST_WITH_QUOTA:
                    await connection.execute("RESET ROLE")
                    for profile, memories in ((one, 3), (two, 1)):
                        await connection.execute(BEFORE, profile, uuid4())
                        await connection.execute(MEMORIES, profile, memories)
                    await connection.execute(f"SET ROLE {LANDLORD}")
                await connection.execute(migration.text)
            hidden = await connection.fetchval("SELECT count(*) FROM memory.usage")
            await connection.execute("RESET ROLE")
            rows = await connection.fetch("SELECT profile_id, memories FROM memory.usage")

    assert hidden == 0
    assert {row["profile_id"]: row["memories"] for row in rows} == {one: 3, two: 1}


BEFORE = """
INSERT INTO memory.session (profile_id, id, name_mac, name_sealed, started_at, active_at)
VALUES ($1, $2, '\\x00', '\\x00', now(), now())
"""
MEMORIES = """
INSERT INTO memory.memory (
    profile_id, id, session_id, position, type, source, occurred_at, created_at, updated_at, touched_at,
    content_mac, length, content_tokens, summary_tokens, essence_tokens, content_sealed
)
SELECT s.profile_id, gen_random_uuid(), s.id, n, 1, 1, now(), now(), now(), now(),
       int4send(n), 1, 1, 1, 1, '\\x00'
FROM memory.session s, generate_series(1, $2::integer) n WHERE s.profile_id = $1
"""

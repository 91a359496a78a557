"""Runs and results in Postgres, at times that the tests choose."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from libs.data import installation, migrations
from libs.data.checks import isolation_self_test, profile_tables
from libs.data.keyring import Keyring
from libs.data.postgres import Database, connect
from libs.language.lexing import Lexing
from services.results.results.drafts import Said, with_content
from services.results.results.result import Key, ResultExpired, ResultNotReady, ResultUnknown, Step
from services.results.results.store import UPLOAD_KEPT, Store
from services.results.results.streams import UploadGone
from services.results.results.values import Encoding
from services.results.runs.drafts import Draft, finishing, started
from services.results.runs.quota import Quota, QuotaExceeded
from services.results.runs.run import Kind, RunNotFound, Status
from services.results.runs.store import RunStore
from services.results.service import SCHEMA
from tests.rig.postgres import MASTER, Cluster

NOW = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)
TTL = timedelta(days=30)
KNOWN = timedelta(days=7)
TICK = timedelta(microseconds=1)
LATE = timedelta(hours=1)
"""More than a call can wait here for others."""
GRPC = 4
ROOMY = Quota(runs=100, results=100, bytes=1_000_000)


def unheard(profile: UUID, workflow: bytes, task: bytes | None) -> None:
    """Nobody waits here."""


@dataclass
class Room:
    """The schema on a database of its own."""

    dsn: str
    database: Database
    keyring: Keyring

    def store(self) -> Store:
        """The store of results."""
        return Store(self.database, self.keyring, TTL, KNOWN, unheard)

    def runs(self) -> RunStore:
        """The store of runs."""
        return RunStore(self.database, self.keyring, Lexing(), unheard)

    async def count(self, table: str) -> int:
        """How many rows the superuser, whom no policy stops, reads."""
        return len(await self.rows(f"SELECT FROM results.{table}"))

    async def rows(self, query: str) -> list[Any]:
        """What the superuser reads."""
        async with migrations.owner(self.dsn) as connection:
            return await connection.fetch(query)


@pytest.fixture
async def room(cluster: Cluster) -> AsyncGenerator[Room]:
    """Migrated, empty, and reached as the service's own role."""
    async with (
        cluster.fresh("results", make_results) as dsn,
        connect(dsn, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)) as database,
    ):
        yield Room(dsn, database, Keyring(database, MASTER, SCHEMA.schema))


async def make_results(dsn: str) -> None:
    """Set a database up for results."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, SCHEMA.schema, SCHEMA.package, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)
    )


async def put(
    store: Store,
    profile: UUID,
    task: str,
    content: str = "c",
    workflow: str = "w",
    now: datetime = NOW,
    *,
    attempt: int = 1,
    quota: Quota = ROOMY,
) -> Step:
    """A result kept."""
    draft, whole = with_content(Said(workflow, task, attempt=attempt), content, Encoding.UTF_8, GRPC)
    return await store.put(profile, draft, whole, quota, now)


def a_run(workflow: str, ttl: timedelta = TTL) -> Draft:
    """A run to start."""
    return started(uuid4(), workflow, Kind.MISSION, "g", None, ttl)


async def test_every_table_is_guarded(room: Room) -> None:
    """Row-level security holds for the service's role."""
    tables = await profile_tables(room.database, SCHEMA.schema)

    assert len(tables) == 9
    await isolation_self_test(room.database, tables)


async def test_a_run_is_gone_at_once(room: Room) -> None:
    """A microsecond before it is there, and then nothing of it is; later nobody knows it."""
    store, runs, profile = room.store(), room.runs(), uuid4()
    step = await put(store, profile, "t")
    ends = NOW + TTL

    assert (await store.get(profile, Key("w", "t"), 0, step.expires_at - TICK)).content == b"c"
    assert step.expires_at - ends < LATE
    ends = step.expires_at
    for moment, problem in (
        (ends, ResultExpired),
        (ends + KNOWN - TICK, ResultExpired),
        (ends + KNOWN, ResultUnknown),
    ):
        with pytest.raises(problem):
            await store.get(profile, Key("w", "t"), 0, moment)
        with pytest.raises(problem):
            await store.final(profile, "w", 0, moment)
        with pytest.raises(problem):
            await store.steps(profile, "w", 10, 0, moment)
        with pytest.raises(RunNotFound):
            await runs.status(profile, step.run_id, moment)
        assert await runs.newest(profile, None, None, 10, None, moment) == []


async def test_sweeping_changes_no_answer(room: Room) -> None:
    """First contents go and only hashes stay, then these; what is alive stays; counts are right."""
    store, runs, profile = room.store(), room.runs(), uuid4()
    for number in range(5):
        await put(store, profile, f"t{number}")
    await runs.start(profile, a_run("stays", timedelta(days=365)), ROOMY, NOW)
    await put(store, profile, "t", workflow="stays")
    ends = NOW + TTL + LATE
    sweeps = 1
    while await runs.sweep(2, KNOWN, ends):
        sweeps += 1

    assert sweeps > 2
    assert (await room.count("result"), await room.count("run")) == (1, 2)
    [head] = await room.rows("SELECT runs, results, bytes FROM results.head")
    assert tuple(head) == (1, 1, 1)
    [emptied] = await room.rows("SELECT * FROM results.run WHERE body_sealed IS NULL")
    assert (emptied["outcome_sealed"], emptied["counted"]) == (None, False)
    with pytest.raises(ResultExpired):
        await store.get(profile, Key("w", "t0"), 0, ends)
    assert not await runs.sweep(2, KNOWN, ends + KNOWN)
    assert await room.count("run") == 1
    with pytest.raises(ResultUnknown):
        await store.get(profile, Key("w", "t0"), 0, ends + KNOWN)


async def test_a_late_put_begins_afresh(room: Room) -> None:
    """Steps of the run that expired are not there again, swept or not."""
    store, profile = room.store(), uuid4()
    first = await put(store, profile, "old")
    fresh = await put(store, profile, "new", now=NOW + TTL + LATE)

    assert fresh.run_id != first.run_id
    assert [step.labels.task_id for step in await store.steps(profile, "w", 10, 0, NOW + TTL + LATE)] == [
        "new"
    ]
    with pytest.raises(ResultNotReady):
        await store.get(profile, Key("w", "old"), 0, NOW + TTL + LATE)


async def test_polling_for_what_never_came_ends_with_the_run(room: Room) -> None:
    """A worker may be a minute behind its run; after that there is nothing to wait for."""
    store, runs, profile = room.store(), room.runs(), uuid4()
    run = await runs.start(profile, a_run("w", timedelta(days=1)), ROOMY, NOW)
    absent, minute = Key("w", "t"), timedelta(minutes=1)
    for moment in (NOW, NOW + 2 * minute):
        with pytest.raises(ResultNotReady):
            await store.get(profile, absent, 0, moment)
    done = await runs.finish(profile, run.id, finishing(Status.SUCCEEDED, "o", ""), NOW)
    assert done.ended_at

    with pytest.raises(ResultNotReady):
        await store.get(profile, absent, 0, done.ended_at + minute - timedelta(microseconds=1))
    with pytest.raises(ResultUnknown):
        await store.get(profile, absent, 0, done.ended_at + minute)
    await put(store, profile, "t", now=NOW + 2 * minute)
    await store.get(profile, absent, 0, NOW + 2 * minute)


@pytest.mark.parametrize(
    ("quota", "part"),
    [(Quota(1, 9, 99), "runs"), (Quota(9, 1, 99), "results"), (Quota(9, 9, 1), "results_bytes")],
)
async def test_a_quota_is_exact(room: Room, quota: Quota, part: str) -> None:
    """One more is too much, and leaves nothing; what has expired makes room at once."""
    store, profile = room.store(), uuid4()
    await put(store, profile, "t", quota=quota)

    with pytest.raises(QuotaExceeded) as refused:
        await put(store, profile, "u", workflow="other", quota=quota)
    assert refused.value.metadata == {"quota": part, "limit": "1"}
    assert (await room.count("run"), await room.count("result")) == (1, 1)
    await put(store, profile, "u", workflow="other", now=NOW + TTL + LATE, quota=quota)


async def test_what_is_over_a_quota_refuses_only_more_of_itself(room: Room) -> None:
    """Lowered below what is there: no more runs, but results of those; nothing larger, but less."""
    store, profile = room.store(), uuid4()
    for workflow in ("w", "other"):
        await put(store, profile, "t", "12345", workflow)
    few_runs, few_results, few_bytes = Quota(1, 9, 99), Quota(9, 1, 99), Quota(9, 9, 3)

    with pytest.raises(QuotaExceeded):
        await put(store, profile, "t", workflow="third", quota=few_runs)
    await put(store, profile, "u", quota=few_runs)
    with pytest.raises(QuotaExceeded):
        await put(store, profile, "v", quota=few_results)
    await put(store, profile, "t", "54321", attempt=2, quota=few_results)
    with pytest.raises(QuotaExceeded):
        await put(store, profile, "t", "123456", attempt=3, quota=few_bytes)
    await put(store, profile, "t", "1234", attempt=3, quota=few_bytes)
    [head] = await room.rows("SELECT runs, results, bytes FROM results.head")
    assert tuple(head) == (2, 3, 10)


async def test_an_abandoned_stream_is_swept(room: Room) -> None:
    """Its bytes count while they are there, and nobody can finish it afterwards."""
    store, runs, profile, result_id = room.store(), room.runs(), uuid4(), uuid4()
    quota = Quota(9, 9, 10)
    await store.keep_part(profile, result_id, 0, b"x" * 10, quota, NOW)

    with pytest.raises(QuotaExceeded):
        await put(store, profile, "t", quota=quota)
    assert not await runs.sweep(10, KNOWN, NOW + UPLOAD_KEPT + LATE)
    assert (await room.count("part"), await room.count("upload")) == (0, 0)
    await put(store, profile, "t", quota=quota)
    draft, _ = with_content(Said("w", "big"), "x" * 10, Encoding.UTF_8, GRPC)
    with pytest.raises(UploadGone):
        await store.put_uploaded(profile, draft, result_id, 1, quota, NOW)


async def test_episodes_stay_as_they_are(room: Room) -> None:
    """The service's role can neither change nor remove one."""
    runs, profile = room.runs(), uuid4()
    run = await runs.start(profile, a_run("w"), ROOMY, NOW)
    await runs.finish(profile, run.id, finishing(Status.SUCCEEDED, "o", ""), NOW)
    async with room.database.as_profile(profile) as connection:
        assert await connection.execute("DELETE FROM results.episode") == "DELETE 0"
        assert await connection.execute("UPDATE results.episode SET kind = 2") == "UPDATE 0"
    assert await room.count("episode") == 1

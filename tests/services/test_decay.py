"""How memories age, through every door."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from treering.decay.v1 import decay_pb2
from treering.decay.v1 import decay_service_pb2 as pb
from treering.memory.v1 import memory_service_pb2 as memory_pb

from libs.data import binaries, migrations
from libs.language.tokens import TokenCounter
from tests.rig.ageing import QUIET, grow_older, leases, remembered, set_present, stages
from tests.rig.answers import problem
from tests.rig.house import Caller, House, opened_house, unknown_id
from tests.rig.postgres import Cluster
from tests.rig.refusals import refused

DAY = timedelta(days=1)
FULL, COMPRESSED, SUMMARY, ESSENCE, FORGOTTEN = range(1, 6)
WAITS = {FULL: 7, COMPRESSED: 30, SUMMARY: 90, ESSENCE: 365}
"""The seed's table, in days."""
SEED: dict[str, Any] = {
    "full": {"tokens": 500, "duration": "604800s"},
    "compressed": {"tokens": 250, "duration": "2592000s"},
    "summary": {"tokens": 150, "duration": "7776000s"},
    "essence": {"tokens": 50, "duration": "31536000s"},
    "fresh_duration": "604800s",
    "factors": {"accessed": 3.0, "reinforced": 2.0, "failing": 0.5},
    "keep_originals": False,
}
NONE = "\\x" + b"none".hex()
LETTER = (
    "The billing job failed on 2026-03-14 because the invoice table had no index on customer_id. "
    + " ".join(f"Attempt {number} waited for the lock of worker {number * 3}." for number in range(1, 60))
    + " Never restart the walrus scheduler while the nightly export is running."
)


@pytest.fixture(scope="module")
async def quiet_house(cluster: Cluster) -> AsyncGenerator[House]:
    """A house in which only who asks sweeps."""
    async with opened_house(cluster, **QUIET) as running:
        yield running


@pytest.fixture
async def one(quiet_house: House) -> Caller:
    """Somebody in it."""
    return await quiet_house.caller()


async def sweep(caller: Caller) -> decay_pb2.Sweep:
    """Sweep what is due."""
    return (await caller.decay.Sweep(pb.SweepRequest())).sweep


def short(seconds: float = 1) -> decay_pb2.Policy:
    """A policy under which every stage takes so long."""
    span = Duration()
    span.FromTimedelta(timedelta(seconds=seconds))
    stage = decay_pb2.StagePolicy(duration=span)
    return decay_pb2.Policy(full=stage, compressed=stage, summary=stage, essence=stage, fresh_duration=span)


async def test_the_seeds_table_is_the_default(one: Caller) -> None:
    """Over every door, with every field, and as nobody set it."""
    told = await one.decay.GetPolicy(pb.GetPolicyRequest())
    rest = (await one.http.get("/v1/decay/policy")).json()

    assert rest == {"policy": SEED}
    assert told.policy.summary.tokens == 150
    assert not told.policy.HasField("updated_at")


async def test_a_policy_is_taken_back_as_it_was_given(one: Caller) -> None:
    """What GET answers PUT takes; what is left out is the default."""
    wanted = {
        "full": {"duration": "1s"},
        "essence": {"tokens": 40, "duration": "315576000s"},
        "factors": {"accessed": 10},
        "keep_originals": True,
    }
    put = (await one.http.put("/v1/decay/policy", json={"policy": wanted})).json()
    again = (await one.http.put("/v1/decay/policy", json=put)).json()

    kept = (await one.http.get("/v1/decay/policy")).json()
    assert kept == again
    kept["policy"].pop("updated_at")
    assert kept["policy"] == SEED | {
        "full": {"tokens": 500, "duration": "1s"},
        "essence": {"tokens": 40, "duration": "315576000s"},
        "factors": {"accessed": 10.0, "reinforced": 2.0, "failing": 0.5},
        "keep_originals": True,
    }


async def test_a_policy_is_its_workspaces(quiet_house: House) -> None:
    """Whoever is in the workspace reads it; nobody else notices."""
    names = {"owner": "policies", "workspace": "shared"}
    first = await quiet_house.caller(**names, profile="first")
    second = await quiet_house.caller(**names, profile="second")
    elsewhere = await quiet_house.caller()
    await first.decay.SetPolicy(pb.SetPolicyRequest(policy=decay_pb2.Policy(keep_originals=True)))

    told = [await each.decay.GetPolicy(pb.GetPolicyRequest()) for each in (first, second, elsewhere)]

    assert [each.policy.keep_originals for each in told] == [True, True, False]


async def test_tokens_must_fall(one: Caller) -> None:
    """A stage that would keep as much as the one before is refused by name, and nothing is kept."""
    policy = decay_pb2.Policy(summary=decay_pb2.StagePolicy(tokens=250))

    assert await refused(one.decay.SetPolicy(pb.SetPolicyRequest(policy=policy))) == (
        "INVALID_ARGUMENT",
        "INVALID_FIELD",
        ["policy.summary.tokens"],
    )
    kept = await one.decay.GetPolicy(pb.GetPolicyRequest())
    assert not kept.policy.HasField("updated_at")


async def test_a_life(one: Caller) -> None:
    """D1, day by day: nothing on the last day before, one step on the day, gone after 492 days."""
    [memory_id] = await remembered(one, LETTER)
    seen: list[tuple[int, int]] = []
    for days in WAITS.values():
        await grow_older(one.house.dsn, (days - 1) * DAY + timedelta(hours=23), memory_id)
        await sweep(one)
        [before] = await stages(one, [memory_id])
        await grow_older(one.house.dsn, timedelta(hours=1), memory_id)
        await sweep(one)
        [after] = await stages(one, [memory_id])
        seen.append((before, after))
    swept = (await one.decay.ListSweeps(pb.ListSweepsRequest())).sweeps

    assert seen == [(FULL, COMPRESSED), (COMPRESSED, SUMMARY), (SUMMARY, ESSENCE), (ESSENCE, FORGOTTEN)]
    assert await refused(one.memory.GetMemory(memory_pb.GetMemoryRequest(memory_id=str(memory_id)))) == (
        "NOT_FOUND",
        "MEMORY_NOT_FOUND",
        [],
    )
    counted = [
        (each.forgotten_count, each.essence_count, each.summary_count, each.compressed_count)
        for each in swept
    ]
    assert counted == [
        (1, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0), (0, 0, 0, 1),
        (0, 0, 0, 0),
    ]  # fmt: skip
    assert all(each.complete and each.trigger == decay_pb2.TRIGGER_REQUEST for each in swept)
    again = await one.decay.GetSweep(pb.GetSweepRequest(sweep_id=swept[0].id))
    assert again.sweep == swept[0]


async def test_found_by_words_and_meaning_at_every_stage(one: Caller) -> None:
    """The words of the first day, and what they mean, lead to it; a hit shows 150 tokens at most."""
    counter = TokenCounter()
    [memory_id] = await remembered(one, LETTER)
    await remembered(
        one, "Lunch is at noon.", "The office plant needs water.", "Tickets are sold on Mondays."
    )
    for days in (0, *list(WAITS.values())[:3]):
        await grow_older(one.house.dsn, days * DAY, memory_id)
        await sweep(one)
        for query in ("walrus", "why could invoices not be made in March?"):
            found = await one.memory.Search(memory_pb.SearchRequest(query=query, limit=3))
            assert found.hits[0].memory_id == str(memory_id), query
            assert counter.count(found.hits[0].text) <= 150
        # Searching has made it young; that is not what is tried here.
        await asyncio.sleep(1.5)
    assert await stages(one, [memory_id]) == [ESSENCE]


async def test_reading_resets_the_timer(one: Caller) -> None:
    """Two of one age: the one that is read stays, the other shrinks."""
    await one.decay.SetPolicy(pb.SetPolicyRequest(policy=short(3600)))
    read, left = await remembered(one, "read", "left")
    await grow_older(one.house.dsn, timedelta(hours=2), read, left)
    await one.memory.GetMemory(memory_pb.GetMemoryRequest(memory_id=str(read)))
    await asyncio.sleep(2)  # until the count of reads is written
    swept = await sweep(one)

    assert (swept.compressed_count, await stages(one, [read, left])) == (1, [FULL, COMPRESSED])


async def test_it_happens_by_itself(cluster: Cluster) -> None:
    """With a policy of seconds a memory goes from whole to gone while nobody asks; sweeps tell of it."""
    async with opened_house(cluster, TREERING_DECAY_SWEEP_SECONDS="0.2") as house:
        caller = await house.caller()
        await caller.decay.SetPolicy(pb.SetPolicyRequest(policy=short()))
        kept, left = await remembered(caller, "whole", "left")
        sweeps: list[decay_pb2.Sweep] = []
        async with asyncio.timeout(60):
            while sum(each.forgotten_count for each in sweeps) < 2:
                sweeps = list((await caller.decay.ListSweeps(pb.ListSweepsRequest())).sweeps)

        assert await stages(caller, [kept, left]) == [FORGOTTEN, FORGOTTEN]
        assert {each.trigger for each in sweeps} == {decay_pb2.TRIGGER_SCHEDULE}
        assert sum(each.compressed_count for each in sweeps) == 2
        assert await leases(house.dsn) == 0


async def test_a_sweep_is_ones_own(quiet_house: House) -> None:
    """It moves what is the caller's, also within a workspace, and nobody else is told of it."""
    names = {"owner": "sweeps", "workspace": "shared"}
    first = await quiet_house.caller(**names, profile="first")
    second = await quiet_house.caller(**names, profile="second")
    [mine], [theirs] = await remembered(first, "mine"), await remembered(second, "theirs")
    await grow_older(quiet_house.dsn, 8 * DAY, mine, theirs)
    swept = await sweep(first)

    assert (await stages(first, [mine]), await stages(second, [theirs])) == ([COMPRESSED], [FULL])
    assert not (await second.decay.ListSweeps(pb.ListSweepsRequest())).sweeps
    foreign = await refused(second.decay.GetSweep(pb.GetSweepRequest(sweep_id=swept.id)))
    nothing = await refused(second.decay.GetSweep(pb.GetSweepRequest(sweep_id=unknown_id())))
    assert foreign == nothing == ("NOT_FOUND", "SWEEP_NOT_FOUND", [])
    for memory_id in (str(mine), unknown_id()):
        over_grpc = await refused(second.decay.Forecast(pb.ForecastRequest(memory_id=memory_id)))
        over_rest = await second.http.get("/v1/decay/forecast", params={"memory_id": memory_id})
        assert over_grpc == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
        problem(over_rest, 404, "MEMORY_NOT_FOUND")


async def test_forgotten_is_gone_from_the_database(one: Caller) -> None:
    """D9: of no column, term or hash of it a byte is left in a dump; its id stands on its tombstone alone."""
    [memory_id] = await remembered(one, f"{LETTER} Nobody else has seen the heron.")
    before = await traces(one.house, memory_id)
    dump = dumped(one.house)
    held = [trace for trace in before if trace in dump]
    for days in WAITS.values():
        await grow_older(one.house.dsn, days * DAY, memory_id)
        before |= await traces(one.house, memory_id)
        await sweep(one)
    dump = dumped(one.house)

    assert len(held) > 20, "what is looked for was there"
    assert [trace for trace in before if trace in dump] == []
    assert dump.count(str(memory_id)) == 1


async def traces(house: House, memory_id: UUID) -> set[str]:
    """What is kept of a memory, as a dump shows it: sealed texts, hashes, its vector and its terms."""
    async with migrations.owner(house.dsn) as connection:
        [row] = await connection.fetch(
            "SELECT content_sealed::text, coalesce(summary_sealed, 'none'::bytea)::text,"
            " coalesce(essence_sealed, 'none'::bytea)::text, content_mac::text, embedding::text"
            " FROM memory.memory WHERE id = $1",
            memory_id,
        )
        terms = await connection.fetch("SELECT term FROM memory.posting WHERE memory_id = $1", memory_id)
    return {text for text in row if text != NONE} | {str(term["term"]) for term in terms}


def dumped(house: House) -> str:
    """The whole database as SQL, where bytes of columns look as they do in ``traces``."""
    program = binaries.find().bin / "pg_dump"
    done = subprocess.run([program, f"--dbname={house.dsn}"], capture_output=True, check=True, env={})
    return done.stdout.decode().replace("\\\\x", "\\x")


async def test_a_key_that_reads_changes_nothing(quiet_house: House) -> None:
    """Policies and sweeps take decay:write."""
    reader = await quiet_house.caller(scopes=["decay:read"])

    assert await reader.decay.GetPolicy(pb.GetPolicyRequest())
    for call in (
        reader.decay.Sweep(pb.SweepRequest()),
        reader.decay.SetPolicy(pb.SetPolicyRequest(policy=decay_pb2.Policy())),
    ):
        assert (await refused(call))[:2] == ("PERMISSION_DENIED", "SCOPE_MISSING")


async def test_a_forecast_is_what_sweeps_do(cluster: Cluster) -> None:
    """Memories of every ring and pace: on each date there are as many at each stage as were forecast."""
    async with opened_house(cluster, **QUIET) as house:
        caller = await house.caller()
        now = datetime.now(UTC).replace(microsecond=0)
        ids = await of_every_kind(caller, now)
        dates = [now + days * DAY for days in (0, 1, 3, 8, 20, 45, 100, 200, 365, 600, 1200, 3000)]
        told = await caller.decay.Forecast(pb.ForecastRequest(at=[stamp(date) for date in dates]))
        moments = {passage.at.ToDatetime(UTC) for one in ids for passage in await passages(caller, one)}

        for date, outlook in zip(dates, told.outlooks, strict=True):
            for moment in sorted(moment for moment in moments if moment <= date):
                await set_present(house.dsn, moment)
                await sweep(caller)
            moments = {moment for moment in moments if moment > date}
            there = await stages(caller, ids)
            assert {each.stage: each.memories for each in outlook.stages} == {
                stage: there.count(stage) for stage in range(1, 6)
            }, date
        assert not moments
        assert [each.at.ToDatetime(UTC) for each in told.outlooks] == dates


async def of_every_kind(caller: Caller, now: datetime) -> list[UUID]:
    """Some fresh, some shocks, some read or observed often, some failing; all of different ages."""
    ids = await remembered(caller, *(f"text {number}" for number in range(80)))
    await set_present(caller.house.dsn, now)
    async with migrations.owner(caller.house.dsn) as connection:
        for number, one in enumerate(ids):
            await connection.execute(
                "UPDATE memory.memory SET ring = $2, access_count = $3, reinforcement_count = $4,"
                " successes = 0, failures = $5 WHERE id = $1",
                *(one, (1, 2, 3, 3, 5)[number % 5], 21 * (number % 2), 6 * (number // 2 % 2)),
                9 * (number // 4 % 2),
            )
            await connection.execute(
                "UPDATE memory.memory SET used_at = $2, staged_at = $2 WHERE id = $1",
                *(one, now - number * timedelta(hours=5)),
            )
    return ids


async def passages(caller: Caller, memory_id: UUID) -> list[decay_pb2.Passage]:
    """The steps that a memory has before it."""
    told = await caller.decay.Forecast(pb.ForecastRequest(memory_id=str(memory_id)))
    return list(told.passages)


def stamp(moment: datetime) -> Timestamp:
    """A moment as a message."""
    made = Timestamp()
    made.FromDatetime(moment)
    return made

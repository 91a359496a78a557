"""A year and four months of ten thousand memories, day by day, against a model that needs no database."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from libs.language.tokens import TokenCounter
from services.decay.ageing.policy import DEFAULT, next_stage
from services.decay.ageing.policy import Stage as DecayStage
from services.memory.lifecycle.ages import Result, Step, Wait
from services.memory.memories.observations import Raw
from services.memory.memories.rings import Outcome, Ring, Stage
from tests.rig.ageing import set_present
from tests.rig.memory import WORKSPACE, Memories, a_raw, memories_in
from tests.rig.postgres import Cluster

GOLDEN = json.loads((Path(__file__).parent / "golden" / "decay_histories.json").read_text())
"""Histories that were once right: what happened to a memory on which day, and when it came to which stage.

A change of theirs is a change of what people were promised."""
MEMORIES = 10_000
PROFILES = 10
DAYS = sorted({*range(0, 498, 6), 7, 37, 127, 492})
"""With those on which a memory that nobody uses comes to its next stage."""
START = datetime(2027, 1, 1, tzinfo=UTC)
BATCH = 100
DUE = 200
DAYS_AT = {1: 7, 2: 30, 3: 90, 4: 365}
FRESH_DAYS = 7
GONE = 5
WAITS = [
    Wait(WORKSPACE, None, 0, DEFAULT.fresh),
    *(Wait(WORKSPACE, Stage(stage), pace, wait) for stage, pace, wait in DEFAULT.waits()),
]


@dataclass
class Life:
    """One memory, as plain numbers: what the seed says about it, and nothing else."""

    ring: int
    reads: dict[int, int]
    """By day, how often it is read."""
    outcomes: dict[int, int]
    """By day, how it turned out when it was observed again."""
    stage: int = 1
    entered: dict[int, int] = field(default_factory=dict[int, int])
    """By stage, the day on which it came to it."""
    aged_from: int = 0
    used: int = 0
    read: int = 0
    seen: int = 0
    successes: int = 0
    failures: int = 0

    def pass_day(self, day: int) -> None:
        """Everything that happens on a day: it is used, and then it is looked at whether it is due."""
        if self.stage == GONE:
            return
        self.read += self.reads.get(day, 0)
        if outcome := self.outcomes.get(day):
            self.seen += 1
            self.successes += outcome == Outcome.SUCCESS
            self.failures += outcome == Outcome.FAILURE
        if day in self.reads or day in self.outcomes:
            self.used = self.aged_from = day
        if self.ring == Ring.SHOCK:
            return
        if self.ring == Ring.FRESH and day - self.used >= FRESH_DAYS:
            self._enter(GONE, day)
        elif day - self.aged_from >= DAYS_AT[self.stage] * self._factor():
            self._enter(self.stage + 1, day)

    def _factor(self) -> float:
        recorded = self.successes + self.failures
        failing = recorded > 0 and (self.successes + 1) / (recorded + 2) < 0.3
        return (3 if self.read > 20 else 1) * (2 if self.seen > 5 else 1) * (0.5 if failing else 1)

    def _enter(self, stage: int, day: int) -> None:
        self.stage, self.aged_from = stage, day
        self.entered[stage] = day


def lives() -> Iterator[Life]:
    """The golden ones first, then as many by chance as are wanted."""
    for each in GOLDEN:
        yield Life(each["ring"], numbers(each["reads"]), numbers(each["outcomes"]))
    chance = random.Random(20_270_101)  # noqa: S311 -- no secret
    while True:
        reads = {chance.choice(DAYS): chance.choice((1, 2, 25)) for _ in range(chance.choice((0, 0, 1, 3)))}
        ring = chance.choice((1, 2, 2, 2, 2, 5))
        # More of them would move what is fresh into another ring.
        times = chance.choice((0, 0, 1)) if ring == Ring.FRESH else chance.choice((0, 0, 1, 2, 8))
        outcomes = {chance.choice(DAYS): chance.choice((1, 2, 2, 3)) for _ in range(times)}
        yield Life(ring, reads, outcomes)


def numbers(told: Mapping[str, int]) -> dict[int, int]:
    """JSON has only texts for keys."""
    return {int(day): value for day, value in told.items()}


@pytest.fixture(scope="module")
async def room(cluster: Cluster) -> AsyncGenerator[Memories]:
    """The memory room with nothing in it."""
    async with memories_in(cluster, TokenCounter()) as memories:
        yield memories


@dataclass
class Kept:
    """A life, and where its memory is."""

    life: Life
    profile: UUID
    session: UUID
    text: str
    id: UUID


async def kept(room: Memories) -> list[Kept]:
    """Every life as a memory of one of ten profiles."""
    found: list[Kept] = []
    coming = lives()
    for _ in range(PROFILES):
        profile = uuid4()
        session = await room.session(profile)
        for _ in range(MEMORIES // PROFILES // BATCH):
            some = list(islice(coming, BATCH))
            texts = [f"memory {len(found) + number}" for number in range(BATCH)]
            memories = await room.observe_all(profile, session, *map(a_raw, texts))
            for life, text, one in zip(some, texts, memories, strict=True):
                found.append(Kept(life, profile, session, text, one.memory.id))
    for ring in Ring:
        ids = [each.id for each in found if each.life.ring == ring]
        await room.rows("UPDATE memory.memory SET ring = $1 WHERE id = ANY ($2)", ring, ids)
    return found


async def use(room: Memories, memories: list[Kept], day: int) -> None:
    """Read and observe again what is used on a day, if it is still there."""
    reads: dict[UUID, dict[UUID, int]] = defaultdict(dict)
    again: dict[tuple[UUID, UUID], list[Raw]] = defaultdict(list)
    for each in memories:
        if each.life.stage == GONE:
            continue
        if times := each.life.reads.get(day):
            reads[each.profile][each.id] = times
        if outcome := each.life.outcomes.get(day):
            again[each.profile, each.session].append(a_raw(each.text, outcome=Outcome(outcome)))
    for profile, of_profile in reads.items():
        await room.store.touch(profile, of_profile, room.clock())
    for (profile, session), raws in again.items():
        await room.observe_all(profile, session, *raws)


async def sweep(room: Memories) -> None:
    """Move everything that is due, each once."""
    as_of: datetime | None = None
    while True:
        taken = await room.lifecycle.take_due(WAITS, None, DUE, as_of)
        as_of = taken.as_of
        if not taken.due:
            return
        steps = [
            Step(due.profile, due.memory_id, Stage(to), DEFAULT.tokens(to), keep_original=False)
            for due in taken.due
            for to in [next_stage(DecayStage(due.stage), fresh=due.fresh)]
        ]
        moved = await room.restager.restage(taken.token, steps)
        assert {each.result for each in moved} == {Result.MOVED}


@pytest.mark.timeout(600)
async def test_sixteen_months_go_as_the_seed_says(room: Memories) -> None:
    """T6, D1: on each of 87 days every memory is at the stage that the plain numbers give."""
    await set_present(room.dsn, START)
    memories = await kept(room)
    for day in DAYS:
        await set_present(room.dsn, START + timedelta(days=day))
        await use(room, memories, day)
        await sweep(room)
        for each in memories:
            each.life.pass_day(day)

        rows = await room.rows("SELECT id, stage FROM memory.memory")
        there = {row["id"]: row["stage"] for row in rows}
        wrong = {
            each.text: (each.life.stage, there.get(each.id, GONE))
            for each in memories
            if each.life.stage != there.get(each.id, GONE)
        }
        assert not wrong, f"day {day}: {len(wrong)} as {next(iter(wrong.items()))}"

    golden: list[dict[str, Any]] = [history(each.life) for each in memories[: len(GOLDEN)]]
    assert golden == GOLDEN
    [left] = await room.rows("SELECT count(*) AS leases FROM memory.lease")
    assert left["leases"] == 0
    ends = [each.life.stage for each in memories]
    assert all(ends.count(stage) for stage in range(1, GONE + 1)), "some stage was never seen at the end"


def history(life: Life) -> dict[str, Any]:
    """A life as it stands in the golden file."""
    parts = {"reads": life.reads, "outcomes": life.outcomes, "entered": life.entered}
    return {"ring": int(life.ring), **{name: texts(part) for name, part in parts.items()}}


def texts(told: Mapping[int, int]) -> dict[str, int]:
    """As JSON has it."""
    return {str(key): int(value) for key, value in told.items()}

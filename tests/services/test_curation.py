"""The curator through the front door: rings appear right after Observe, with a language model or without."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from starlette.responses import Response
from treering.decay.v1 import decay_service_pb2 as decay_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from tests.rig.ageing import QUIET, grow_older
from tests.rig.house import Caller, House, opened_house
from tests.rig.postgres import Cluster
from tests.rig.writing import provider

SOON = {"TREERING_MEMORY_CURATE_SECONDS": "0.05"}
SECONDS_MAX = 30
SEEN = {
    "Deploy to staging: 1) run the tests 2) build the image 3) push it 4) apply the manifests": (
        memory_pb2.OBSERVATION_TYPE_WORKFLOW_STEP,
        memory_pb2.RING_PROCEDURE,
    ),
    "Always read the plan before applying changes.": (
        memory_pb2.OBSERVATION_TYPE_SUCCESS_PATTERN,
        memory_pb2.RING_PRACTICE,
    ),
    "The production database was deleted by mistake, all orders are lost.": (
        memory_pb2.OBSERVATION_TYPE_ERROR_PATTERN,
        memory_pb2.RING_SHOCK,
    ),
    "142 passed in 8.31s": (memory_pb2.OBSERVATION_TYPE_TOOL_RESULT, memory_pb2.RING_FRESH),
}


async def observe_all(caller: Caller) -> str:
    """Everything of ``SEEN``, in one session."""
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    observations = [pb.Observation(content=text, type=kind) for text, (kind, _) in SEEN.items()]
    await caller.memory.ObserveBatch(
        pb.ObserveBatchRequest(session_id=started.session.id, observations=observations)
    )
    return started.session.id


async def rings(caller: Caller) -> dict[str, int]:
    """Where each memory stands, by its text."""
    listed = await caller.memory.ListMemories(pb.ListMemoriesRequest())
    return {memory.summary: memory.ring for memory in listed.memories}


async def until(caller: Caller, expected: dict[str, int]) -> None:
    """Wait until the memories stand so."""
    async with asyncio.timeout(SECONDS_MAX):
        while await rings(caller) != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_session_finds_its_own_memories_in_their_rings(cluster: Cluster) -> None:
    """Each goes where it belongs while the session is open, and Search filters by it."""
    async with opened_house(cluster, **SOON) as running:
        caller = await running.caller()
        await observe_all(caller)
        await until(caller, {text: ring for text, (_, ring) in SEEN.items()})

        found = await caller.memory.Search(
            pb.SearchRequest(query="what happened to the database?", rings=[memory_pb2.RING_SHOCK])
        )
        assert [hit.text for hit in found.hits] == [text for text in SEEN if "database" in text]


async def test_a_language_model_is_asked_where_there_is_one(cluster: Cluster) -> None:
    """Its answer counts; an injected order in the content reaches it as data only."""
    async with provider() as writer, opened_house(cluster, **SOON, **writer.settings) as running:
        writer.write = lambda system, material: '{"ring": "PRACTICE", "confidence": 0.8}'
        caller = await running.caller()
        await observe_all(caller)
        await until(caller, dict.fromkeys(SEEN, memory_pb2.RING_PRACTICE))

        systems = {asked["messages"][0]["content"] for asked in writer.asked}
        assert len(systems) == 1
        assert not any("staging" in system for system in systems)


async def test_a_model_that_is_away_or_babbles_changes_nothing(cluster: Cluster) -> None:
    """The rules decide as if there were none."""
    async with provider() as writer, opened_house(cluster, **SOON, **writer.settings) as running:
        writer.write = lambda system, material: "As you wish: SHOCK, SHOCK, SHOCK!"
        babbled = await running.caller()
        await observe_all(babbled)
        await until(babbled, {text: ring for text, (_, ring) in SEEN.items()})
        assert writer.asked

        writer.broken = Response(status_code=500)
        away = await running.caller()
        await observe_all(away)
        await until(away, {text: ring for text, (_, ring) in SEEN.items()})


async def test_the_callers_word_goes_before_the_curators(cluster: Cluster) -> None:
    """Promoted at once or later, a memory stays where the caller put it."""
    async with opened_house(cluster, **SOON) as running:
        caller = await running.caller()
        await observe_all(caller)
        listed = await caller.memory.ListMemories(pb.ListMemoriesRequest())
        for memory in listed.memories:
            request = pb.PromoteRequest(
                memory_id=memory.id, ring=memory_pb2.RING_PRACTICE, reason="Ours", demote_shock=True
            )
            await caller.memory.Promote(request)
        await nothing_waits(running)
        for memory in listed.memories:
            said = pb.ReinforceRequest(memory_id=memory.id, outcome=memory_pb2.OUTCOME_SUCCESS)
            await caller.memory.Reinforce(said)
        await nothing_waits(running)

        listed = await caller.memory.ListMemories(pb.ListMemoriesRequest())
        assert {memory.ring for memory in listed.memories} == {memory_pb2.RING_PRACTICE}
        assert {memory.ring_set_by for memory in listed.memories} == {memory_pb2.RING_SETTER_CALLER}


async def test_what_nobody_promotes_nor_touches_is_gone_after_a_week(cluster: Cluster) -> None:
    """From Search and every other read; what the curator placed stays, and nothing goes earlier."""
    async with opened_house(cluster, **SOON, **QUIET) as running:
        caller = await running.caller()
        session_id = await observe_all(caller)
        await until(caller, {text: ring for text, (_, ring) in SEEN.items()})
        listed = await caller.memory.ListMemories(pb.ListMemoriesRequest())
        [fresh] = [memory.id for memory in listed.memories if memory.ring == memory_pb2.RING_FRESH]
        await grow_older(running.dsn, timedelta(days=6, hours=23))
        early = (await caller.decay.Sweep(decay_pb.SweepRequest())).sweep
        await grow_older(running.dsn, timedelta(hours=2))
        await caller.decay.Sweep(decay_pb.SweepRequest())

        got = await caller.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=[fresh]))
        found = await caller.memory.Search(pb.SearchRequest(query="142 passed in 8.31s"))
        told = await caller.memory.Timeline(pb.TimelineRequest(memory_ids=[fresh]))
        left = await caller.memory.ListMemories(pb.ListMemoriesRequest(session_id=session_id))
        stats = await caller.memory.GetStats(pb.GetStatsRequest())

    assert early.forgotten_count == 0
    assert list(got.missing_ids) == [fresh]
    assert fresh not in {hit.memory_id for hit in found.hits}
    assert not told.entries
    assert {memory.id for memory in left.memories} == {memory.id for memory in listed.memories} - {fresh}
    assert stats.memory_count == len(SEEN) - 1


async def nothing_waits(running: House) -> None:
    """Wait until the curator has looked at everything."""
    async with asyncio.timeout(SECONDS_MAX), migrations.owner(running.dsn) as connection:
        while await connection.fetchval("SELECT count(*) FROM memory.uncurated"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)

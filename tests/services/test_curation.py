"""The curator through the front door: rings appear right after Observe, with a language model or without."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, opened_house
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

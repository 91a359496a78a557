"""What changes a memory is seen by every read that follows, whichever it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
from treering.decay.v1 import decay_service_pb2 as decay_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from services.gateway import catalog
from services.memory.memories.rings import Ring
from tests.catalogue.doors import door
from tests.rig.ageing import QUIET, grow_older, promote
from tests.rig.house import Caller, House, opened_house
from tests.rig.postgres import Cluster

WORD = "zanzibar"
FOUND = {"Search", "Brief"}
READ = {"Timeline", "GetMemories", "GetMemory", "ListMemories", "ListVersions"}
LONG = "The billing job failed because the invoice table had no index. " + " ".join(
    f"Attempt {number} waited for the lock of worker {number * 3}." for number in range(1, 90)
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


def requests(memory: memory_pb2.Memory, beside: str) -> Mapping[str, dict[str, Any]]:
    """What every method that reads memories is asked, about one and what stands beside it."""
    ids = {"memory_ids": [memory.id, beside]}
    return {
        "Search": {"query": WORD},
        "Brief": {"topic": WORD},
        "Timeline": {**ids, "neighbors": 3},
        "GetMemories": ids,
        "GetMemory": {"memory_id": memory.id},
        "ListMemories": {},
        "ListVersions": {"memory_id": memory.id},
        "ListConflicts": {},
        "GetSession": {"session_id": memory.session_id},
        "ListSessions": {},
        "GetZReport": {"session_id": memory.session_id},
        "ListZReports": {},
        "GetStats": {},
    }


async def telling(caller: Caller, memory: memory_pb2.Memory, beside: str, word: str = WORD) -> set[str]:
    """The methods whose answer has this word."""
    grpc = door("grpc", caller)
    asked = requests(memory, beside)
    answers = {name: await grpc.call(name, request) for name, request in asked.items()}
    return {name for name, answer in answers.items() if word in orjson.dumps(answer.body).decode().lower()}


async def observed(caller: Caller, *texts: str) -> list[memory_pb2.Memory]:
    """Memories of these texts in ring PRACTICE, in one session."""
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    kept = [
        (
            await caller.memory.Observe(
                pb.ObserveRequest(
                    session_id=started.session.id,
                    content=text,
                    type=memory_pb2.OBSERVATION_TYPE_INSIGHT,
                    aliases=[WORD] if WORD in text else [],
                )
            )
        ).memory
        for text in texts
    ]
    await promote(caller.house.dsn, Ring.PRACTICE, *(UUID(memory.id) for memory in kept))
    return kept


async def a_word(caller: Caller) -> tuple[memory_pb2.Memory, str]:
    """A memory that has the word in its text, its alias and a version, and the id of one beside it."""
    [memory, beside] = await observed(caller, f"Staging runs on {WORD}.", "Lunch is at noon.")
    await caller.memory.Revise(pb.ReviseRequest(memory_id=memory.id, content=f"Staging runs on {WORD} now."))
    return memory, beside.id


def test_every_read_is_tried() -> None:
    """A method that reads memories and is not in the list here would be tried by nobody."""
    reading = {
        method.name
        for method in catalog.load().methods
        if method.service == "treering.memory.v1.MemoryService" and method.scope == "memory:read"
    }

    assert set(requests(memory_pb2.Memory(), "")) == reading


async def test_what_was_deleted_is_in_no_answer(one: Caller) -> None:
    """M4: nor in the report of its session; what counts memories counts it no more; all of it comes back."""
    memory, beside = await a_word(one)
    before = await telling(one, memory, beside)
    await one.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id))
    after = await telling(one, memory, beside)
    session = (await one.memory.GetSession(pb.GetSessionRequest(session_id=memory.session_id))).session
    stats = await one.memory.GetStats(pb.GetStatsRequest())
    await one.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=memory.id))
    back = await telling(one, memory, beside)
    await one.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id))
    await one.memory.EndSession(pb.EndSessionRequest(session_id=memory.session_id))
    reported = await telling(one, memory, beside)

    assert before == back == FOUND | READ
    assert after == reported == set()
    assert (session.observation_count, stats.memory_count) == (1, 1)


async def test_what_was_superseded_is_found_no_more(one: Caller) -> None:
    """It stays where it was observed, for whoever asks for it; no report tells it."""
    memory, beside = await a_word(one)
    before = await telling(one, memory, beside)
    await one.memory.Supersede(pb.SupersedeRequest(memory_id=memory.id, content="Staging runs on quokka."))
    after = await telling(one, memory, beside)
    await one.memory.EndSession(pb.EndSessionRequest(session_id=memory.session_id))
    reported = await telling(one, memory, beside)

    assert before == FOUND | READ
    # Its successor has its alias; its text stands in no hit.
    assert after - FOUND == reported - FOUND == READ
    assert await telling(one, memory, beside, f"on {WORD}") == READ


async def test_what_was_cut_is_in_no_answer(one: Caller) -> None:
    """Of a memory that was shortened every answer has only what is left."""
    [memory, beside] = await observed(one, f"{LONG} It is called {WORD}.", "Lunch is at noon.")
    whole = LONG.lower().split(". ")
    assert await telling(one, memory, beside.id, whole[40]) >= {"GetMemory", "GetMemories", "ListVersions"}
    await asyncio.sleep(2)  # until the count of reads is written
    await grow_older(one.house.dsn, timedelta(days=8), UUID(memory.id))
    swept = (await one.decay.Sweep(decay_pb.SweepRequest())).sweep
    left = (await one.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory.id))).memory
    cut = [sentence for sentence in whole if sentence not in left.content.lower()]

    assert (swept.compressed_count, left.stage) == (1, memory_pb2.STAGE_COMPRESSED)
    assert len(cut) > 10
    for sentence in (cut[0], cut[-1]):
        assert await telling(one, memory, beside.id, f"{sentence}.") == set()


async def test_a_trace_without_a_memory_finds_nothing(one: Caller) -> None:
    """M5: whatever a word, a name or a tag leads to is looked up: what is not there is passed over."""
    memory, _ = await a_word(one)
    async with migrations.owner(one.house.dsn) as connection:
        await connection.execute(
            "INSERT INTO memory.posting (profile_id, term, memory_id, tf, length)"
            " SELECT profile_id, term, gen_random_uuid(), 9, 9 FROM memory.posting WHERE memory_id = $1",
            UUID(memory.id),
        )
        await connection.execute(
            "INSERT INTO memory.alias (profile_id, mac, memory_id)"
            " SELECT profile_id, mac, gen_random_uuid() FROM memory.alias WHERE memory_id = $1",
            UUID(memory.id),
        )
    answer = await one.memory.Search(
        pb.SearchRequest(query=f"{WORD} staging runs", precision=pb.PRECISION_STRICT)
    )

    assert [hit.memory_id for hit in answer.hits] == [memory.id]

"""MemoryService through the front door: what is observed, and who may."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from structlog.testing import capture_logs
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import binaries
from tests.rig.house import Caller, unknown_id
from tests.rig.observing import INSIGHT, SECRET, a_session, observed, struct
from tests.rig.refusals import refused

CANARY = "Quetzalcoatlus"


async def test_an_observation_is_a_fresh_memory(house: Caller) -> None:
    """Everything that was said is answered, with what was made of it."""
    session = await a_session(house)
    answer = await observed(
        house,
        session,
        "Deploys need a green build.",
        outcome=memory_pb2.OUTCOME_SUCCESS,
        actor="Mia",
        tags=["ci", "CI"],
        aliases=["deploy rule"],
        metadata=struct({"n": 1, "list": ["a", True, None, 1.5]}),
        occurred_at=Timestamp(seconds=1_700_000_000, nanos=123_456_789),
    )
    memory = answer.memory

    assert UUID(memory.id).version == 4
    assert (memory.session_id, memory.position) == (session, 1)
    assert (memory.ring, memory.stage) == (memory_pb2.RING_FRESH, memory_pb2.STAGE_FULL)
    assert memory.content == memory.summary == memory.essence == "Deploys need a green build."
    assert memory.content_tokens == memory.essence_tokens > 0
    assert (memory.actor, list(memory.tags), list(memory.aliases)) == ("Mia", ["ci"], ["deploy rule"])
    assert memory.metadata == struct({"n": 1, "list": ["a", True, None, 1.5]})
    assert memory.occurred_at == Timestamp(seconds=1_700_000_000, nanos=123_456_000)
    assert memory.created_at == memory.updated_at == memory.touched_at
    assert memory.success_score == pytest.approx(2 / 3)
    assert memory.embedding_state == memory_pb2.EMBEDDING_STATE_READY
    assert memory.embedding_model
    assert memory.source == memory_pb2.SOURCE_GRPC
    read = await house.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory.id))
    assert read.memory == memory


async def test_what_was_not_given_is_left_out(house: Caller) -> None:
    """No score without a record; it happened when it was kept."""
    memory = (await observed(house, await a_session(house), "x")).memory

    assert not memory.HasField("success_score")
    assert not memory.HasField("metadata")
    assert memory.occurred_at == memory.created_at


async def test_secrets_are_removed_before_anything_is_kept(house: Caller) -> None:
    """They are counted and cannot be read again."""
    session = await a_session(house)
    memory = (await observed(house, session, f"push with {SECRET}", metadata=struct({"t": SECRET}))).memory

    assert SECRET not in str(memory)
    assert memory.secrets_removed == 2
    assert (await house.memory.GetStats(pb.GetStatsRequest())).secrets_removed == 2


async def test_identical_observations_are_one_memory(house: Caller) -> None:
    """Sixty-four at once: one memory, reinforced sixty-three times."""
    session = await a_session(house)
    answers = await asyncio.gather(*(observed(house, session, "again") for _ in range(64)))

    assert len({answer.memory.id for answer in answers}) == 1
    assert sum(answer.reinforced for answer in answers) == 63
    assert max(answer.memory.reinforcement_count for answer in answers) == 63
    stats = await house.memory.GetStats(pb.GetStatsRequest())
    assert stats.memory_count == 1


async def test_a_repeated_call_answers_alike(house: Caller) -> None:
    """M2: the same key and request: the same memory, not reinforced."""
    session = await a_session(house)
    answers = await asyncio.gather(*(observed(house, session, "once", idempotency_key="k") for _ in range(8)))

    assert {answer.SerializeToString(deterministic=True) for answer in answers} == {
        answers[0].SerializeToString(deterministic=True)
    }
    assert await refused(observed(house, session, "other", idempotency_key="k")) == (
        "ALREADY_EXISTS",
        "IDEMPOTENCY_KEY_REUSED",
        [],
    )


async def test_a_batch_is_kept_whole(house: Caller) -> None:
    """One answer for each, in order; positions follow it."""
    session = await a_session(house)
    items = [pb.Observation(content=f"fact {n % 90}", type=INSIGHT) for n in range(100)]
    answer = await house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=session, observations=items))

    assert [memory.content for memory in answer.memories] == [f"fact {n % 90}" for n in range(100)]
    assert [memory.position for memory in answer.memories[:90]] == list(range(1, 91))
    assert answer.memories[95].id == answer.memories[5].id


async def test_a_batch_with_a_deleted_replay_keeps_nothing(house: Caller) -> None:
    """What a key stood for was deleted: the batch is refused whole, and its other keys stay free."""
    session = await a_session(house)
    first = await observed(house, session, "once", idempotency_key="k")
    await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.memory.id))
    items = [
        pb.Observation(content="new", type=INSIGHT, idempotency_key="free"),
        pb.Observation(content="once", type=INSIGHT, idempotency_key="k"),
    ]
    call = house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=session, observations=items))

    assert await refused(call) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    assert (await house.memory.GetStats(pb.GetStatsRequest())).memory_count == 0
    assert (await observed(house, session, "other", idempotency_key="free")).memory.content == "other"


async def test_a_batch_with_a_fault_keeps_nothing(house: Caller) -> None:
    """All or none; the fault is named where it stands."""
    session = await a_session(house)
    items = [pb.Observation(content=text, type=INSIGHT) for text in ("a", "b\0", "c")]
    call = house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=session, observations=items))

    code, reason, fields = await refused(call)

    assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert fields == ["observations[1].content"]
    assert (await house.memory.GetStats(pb.GetStatsRequest())).memory_count == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": " \n"}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"content": "x" * 50_001}, "content"),
        ({"type": 0}, "type"),
        ({"type": 77}, "type"),
        ({"type": -1}, "type"),
        ({"outcome": 9}, "outcome"),
        ({"actor": "a\u200bb"}, "actor"),
        ({"actor": "x" * 256}, "actor"),
        ({"tags": ["\x1b[31m"]}, "tags[0]"),
        ({"tags": [str(n) for n in range(65)]}, "tags"),
        ({"aliases": ["a", "\u202eb"]}, "aliases[1]"),
        ({"occurred_at": Timestamp(seconds=253_402_300_800)}, "occurred_at"),
        ({"occurred_at": Timestamp(seconds=-62_135_596_801)}, "occurred_at"),
        ({"idempotency_key": "x" * 300}, "idempotency_key"),
        ({"idempotency_key": "a\nb"}, "idempotency_key"),
        ({"metadata": struct({"a": float("nan")})}, "metadata"),
        ({"metadata": struct({"a": "x" * 20_000})}, "metadata"),
        ({"metadata": struct({"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}}})}, "metadata"),
        ({"session_id": "../etc/passwd"}, "session_id"),
        ({"session_id": "{00000000-0000-0000-0000-000000000000}"}, "session_id"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_wrong_input_is_named_and_keeps_nothing(
    house: Caller, fields: dict[str, Any], field: str
) -> None:
    """The field stands in the error, nothing is stored, and the next call works."""
    session = await a_session(house)
    request: dict[str, Any] = {"session_id": session, "content": "x", **fields}

    code, _, named = await refused(observed(house, **request))

    assert code == "INVALID_ARGUMENT"
    assert named == [field]
    assert (await observed(house, session, "fine")).memory.position == 1


async def test_limits_themselves_are_fine(house: Caller) -> None:
    """What is exactly as long as it may be is kept as it came."""
    session = await a_session(house)
    content = "👩‍👩‍👧‍👦 \u202e" + "x" * 49_991
    memory = (
        await observed(
            house,
            session,
            content,
            actor="x" * 255,
            tags=[f"{n}{'y' * 250}" for n in range(64)],
            occurred_at=Timestamp(seconds=253_402_300_799, nanos=999_999_999),
        )
    ).memory

    early = (
        await observed(house, session, "long ago", occurred_at=Timestamp(seconds=-62_135_596_800))
    ).memory

    assert len(content) == 50_000
    assert memory.content == content
    assert memory.occurred_at.seconds == 253_402_300_799
    assert early.occurred_at.seconds == -62_135_596_800
    assert memory.summary_tokens <= 150
    assert memory.essence_tokens <= 50


async def test_a_neighbor_sees_nothing(house: Caller, neighbor: Caller) -> None:
    """Another profile's ids are answered exactly like ids that never existed."""
    session = await a_session(house, "mine", "agent")
    memory = (await observed(house, session, "a private matter", tags=["t"], idempotency_key="k")).memory
    await house.memory.EndSession(pb.EndSessionRequest(session_id=session))

    for session_id, memory_id in ((session, memory.id), (unknown_id(), unknown_id())):
        there = neighbor.memory
        assert await refused(there.GetSession(pb.GetSessionRequest(session_id=session_id))) == (
            "NOT_FOUND",
            "SESSION_NOT_FOUND",
            [],
        )
        for call in (
            there.EndSession(pb.EndSessionRequest(session_id=session_id)),
            there.GetZReport(pb.GetZReportRequest(session_id=session_id)),
            observed(neighbor, session_id, "x"),
        ):
            assert (await refused(call))[1] == "SESSION_NOT_FOUND"
        for call in (
            there.GetMemory(pb.GetMemoryRequest(memory_id=memory_id)),
            there.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory_id)),
        ):
            assert (await refused(call))[1] == "MEMORY_NOT_FOUND"
        assert not (await there.Timeline(pb.TimelineRequest(memory_ids=[memory_id]))).entries
        read = await there.GetMemories(pb.GetMemoriesRequest(memory_ids=[memory_id]))
        assert list(read.missing_ids) == [memory_id]
        assert not (await there.ListMemories(pb.ListMemoriesRequest(session_id=session_id))).memories
        in_session = pb.SearchRequest(query="a private matter", session_id=session_id)
        assert await there.Search(in_session) == pb.SearchResponse()
    assert await there.Search(pb.SearchRequest(query="a private matter")) == pb.SearchResponse()
    stats = await there.GetStats(pb.GetStatsRequest())
    assert stats == pb.GetStatsResponse(memories_max=stats.memories_max)
    assert not (await there.ListSessions(pb.ListSessionsRequest())).sessions
    assert not (await there.ListZReports(pb.ListZReportsRequest())).z_reports
    mine = await observed(neighbor, await a_session(neighbor), "x", idempotency_key="k")
    assert not mine.reinforced
    assert (await house.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory.id))).memory.id == memory.id


@pytest.mark.parametrize("scopes", [["memory:read"], ["memory:write"]])
async def test_a_key_does_what_its_scopes_allow(house: Caller, scopes: list[str]) -> None:
    """Reading does not write, writing does not read."""
    key = await house.house.caller(scopes=scopes)
    read = key.memory.GetStats(pb.GetStatsRequest())
    write = key.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))

    for scope, call in (("memory:read", read), ("memory:write", write)):
        if scope in scopes:
            await call
        else:
            assert (await refused(call))[:2] == ("PERMISSION_DENIED", "SCOPE_MISSING")


async def test_no_word_reaches_the_disk_or_a_log(house: Caller) -> None:
    """A dump of the database and the logs hold nothing of what was said, named, asked or refused."""
    named = f"{CANARY} Smith"
    with capture_logs() as events:
        session = await a_session(house, f"{CANARY} session", f"{CANARY} agent")
        await observed(
            house,
            session,
            f"{CANARY} flew over the sea. " * 60,
            type=memory_pb2.OBSERVATION_TYPE_TOOL_CALL,
            actor=named,
            tags=[CANARY],
            aliases=[f"the {CANARY}"],
            metadata=struct({CANARY: CANARY, "tool": CANARY}),
            idempotency_key=CANARY,
        )
        await house.memory.Search(
            pb.SearchRequest(query=f"where did {CANARY} fly?", actor=named, tags=[CANARY])
        )
        await refused(observed(house, session, f"{CANARY}\0"))
        await refused(observed(house, session, "x", tags=[f"{CANARY}\u200b"]))
        await refused(observed(house, session, f"other {CANARY}", idempotency_key=CANARY))
        await house.memory.EndSession(pb.EndSessionRequest(session_id=session))

    program = binaries.find().bin / "pg_dump"
    dumping = await asyncio.create_subprocess_exec(
        program, "--inserts", f"--dbname={house.house.dsn}", stdout=asyncio.subprocess.PIPE
    )
    dump = (await dumping.communicate())[0].decode().lower()
    logs = repr(events).lower()

    assert "insert into memory.memory" in dump
    assert "memoryservice/observe" in logs
    for kept in (dump, logs):
        assert CANARY.lower() not in kept
        assert CANARY.encode().hex() not in kept
        assert CANARY.lower().encode().hex() not in kept
        assert SECRET.lower() not in kept

"""MemoryService through the front door: sessions, observations, reading, deleting."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from structlog.testing import capture_logs
from treering.memory.v1 import memory_pb2, session_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import binaries
from tests.rig.house import Caller, unknown_id
from tests.rig.refusals import refused

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
SECRET = "ghp_" + "aB3dE6gH9jK2" * 3
CANARY = "Quetzalcoatlus"


async def a_session(house: Caller, name: str = "chat", agent: str = "") -> str:
    """The id of an open session."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id=name, agent_id=agent))
    return started.session.id


async def observed(house: Caller, session_id: str, content: str, **fields: Any) -> pb.ObserveResponse:
    """The answer to one observation, an insight unless another type is given."""
    request: dict[str, Any] = {"session_id": session_id, "content": content, "type": INSIGHT, **fields}
    return await house.memory.Observe(pb.ObserveRequest(**request))


def struct(fields: dict[str, Any]) -> Struct:
    """A plain object as a message."""
    made = Struct()
    made.update(fields)
    return made


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


async def test_a_session_is_found_while_open_and_ends_once(house: Caller) -> None:
    """M9: sixteen ends at once answer one report; then the name starts another session."""
    session = await a_session(house, "run 7", "claude")
    assert await a_session(house, "run 7", "someone else") == session
    await observed(house, session, "It works.", outcome=memory_pb2.OUTCOME_SUCCESS)
    await observed(house, session, "It breaks.", outcome=memory_pb2.OUTCOME_FAILURE)
    not_ready = await refused(house.memory.GetZReport(pb.GetZReportRequest(session_id=session)))

    ends = await asyncio.gather(
        *(house.memory.EndSession(pb.EndSessionRequest(session_id=session)) for _ in range(16))
    )

    assert not_ready[:2] == ("NOT_FOUND", "Z_REPORT_NOT_READY")
    assert len({end.SerializeToString(deterministic=True) for end in ends}) == 1
    report = ends[0].z_report
    assert (report.success_rate, report.observation_count) == (0.5, 2)
    assert (report.success_count, report.failure_count) == (1, 1)
    assert ends[0].session.state == session_pb2.SESSION_STATE_ENDED
    read = await house.memory.GetZReport(pb.GetZReportRequest(session_id=session))
    assert read.z_report == report
    assert (await refused(observed(house, session, "late")))[:2] == ("FAILED_PRECONDITION", "SESSION_CLOSED")
    assert await a_session(house, "run 7") != session
    listed = await house.memory.ListZReports(pb.ListZReportsRequest())
    assert [one.session_id for one in listed.z_reports] == [session]


async def test_an_empty_session_has_a_report(house: Caller) -> None:
    """Without a rate, for nothing was recorded."""
    session = await a_session(house)
    ended = await house.memory.EndSession(pb.EndSessionRequest(session_id=session))

    assert ended.z_report.summary == "Empty session with no observations."
    assert not ended.z_report.HasField("success_rate")


async def test_sessions_are_listed_page_by_page(house: Caller) -> None:
    """The newest first, each once, by state and agent."""
    ids = [await a_session(house, f"run {n}", f"agent {n % 2}") for n in range(7)]
    await house.memory.EndSession(pb.EndSessionRequest(session_id=ids[0]))

    seen: list[str] = []
    token = ""
    for _ in range(4):
        page = await house.memory.ListSessions(pb.ListSessionsRequest(page_size=2, page_token=token))
        seen += [session.id for session in page.sessions]
        token = page.next_page_token
    assert (seen, token) == (ids[::-1], "")

    ended = await house.memory.ListSessions(pb.ListSessionsRequest(state=session_pb2.SESSION_STATE_ENDED))
    assert [session.id for session in ended.sessions] == ids[:1]
    agents = await house.memory.ListSessions(pb.ListSessionsRequest(agent_id="agent 1"))
    assert [session.id for session in agents.sessions] == [ids[5], ids[3], ids[1]]


async def test_memories_are_listed_page_by_page(house: Caller) -> None:
    """The newest first, without full texts, of all sessions or of one."""
    first, second = await a_session(house, "a"), await a_session(house, "b")
    items = [pb.Observation(content=f"fact {n} " + "word " * 200, type=INSIGHT) for n in range(5)]
    batch = await house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=first, observations=items))
    other = await observed(house, second, "elsewhere")
    expected = [other.memory.id, *(memory.id for memory in reversed(batch.memories))]

    for session_id, ids in (("", expected), (first, expected[1:])):
        seen: list[str] = []
        token = ""
        for _ in range(3):
            request = pb.ListMemoriesRequest(session_id=session_id, page_size=2, page_token=token)
            page = await house.memory.ListMemories(request)
            assert not any(memory.content for memory in page.memories)
            seen += [memory.id for memory in page.memories]
            token = page.next_page_token
        assert (seen, token) == (ids, "")
    none = await house.memory.ListMemories(pb.ListMemoriesRequest(rings=[memory_pb2.RING_SHOCK]))
    assert not none.memories


async def test_a_page_token_is_for_its_own_list(house: Caller, neighbor: Caller) -> None:
    """Another query's, another rpc's, another profile's and a broken one are refused alike."""
    for n in range(3):
        await a_session(house, f"run {n}")
    page = await house.memory.ListSessions(pb.ListSessionsRequest(page_size=1))
    token = page.next_page_token

    for call in (
        house.memory.ListSessions(pb.ListSessionsRequest(page_token=token, agent_id="x")),
        house.memory.ListMemories(pb.ListMemoriesRequest(page_token=token)),
        neighbor.memory.ListSessions(pb.ListSessionsRequest(page_token=token)),
        house.memory.ListSessions(pb.ListSessionsRequest(page_token=token[:-2])),
        house.memory.ListSessions(pb.ListSessionsRequest(page_token="hello")),
    ):
        code, _, fields = await refused(call)
        assert (code, fields) == ("INVALID_ARGUMENT", ["page_token"])


async def test_memories_are_read_in_the_order_asked_for(house: Caller) -> None:
    """Each once; unknown ones are named."""
    session = await a_session(house)
    ids = [(await observed(house, session, f"fact {n}")).memory.id for n in range(3)]
    missing = unknown_id()
    asked = [ids[2], missing, ids[0], ids[2].upper(), ids[1]]

    answer = await house.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=asked))

    assert [memory.id for memory in answer.memories] == [ids[2], ids[0], ids[1]]
    assert list(answer.missing_ids) == [missing]
    assert not answer.remaining_ids


async def test_what_does_not_fit_into_one_message_remains(house: Caller) -> None:
    """Fifty long memories take several calls, and every one of them answers."""
    session = await a_session(house)
    ids: list[str] = []
    for n in range(30):
        ids.append((await observed(house, session, f"{n} " + "𝔘" * 49_000)).memory.id)

    asked = list(ids)
    seen: list[str] = []
    for _ in range(5):
        answer = await house.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=asked))
        assert answer.ByteSize() < 4 * 1024 * 1024
        seen += [memory.id for memory in answer.memories]
        asked = list(answer.remaining_ids)
        if not asked:
            break

    assert seen == ids


async def test_reading_is_counted(house: Caller) -> None:
    """Soon after a memory was read, it says so."""
    memory = (await observed(house, await a_session(house), "read me")).memory
    for _ in range(3):
        await house.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory.id))

    count = 0
    for _ in range(50):
        listed = await house.memory.ListMemories(pb.ListMemoriesRequest())
        count = listed.memories[0].access_count
        if count == 3:
            break
        await asyncio.sleep(0.1)
    assert count == 3


async def test_a_timeline_shows_what_stood_around(house: Caller) -> None:
    """The earliest first, with its session and neighbours, without full texts."""
    session = await a_session(house, "walk")
    late = Timestamp(seconds=1_700_000_000)
    first = (await observed(house, session, "one", occurred_at=late)).memory
    second = (await observed(house, session, "two", occurred_at=Timestamp(seconds=1_600_000_000))).memory
    await observed(house, session, "three")

    answer = await house.memory.Timeline(
        pb.TimelineRequest(memory_ids=[first.id, second.id, unknown_id()], neighbors=1)
    )

    assert [entry.memory.id for entry in answer.entries] == [second.id, first.id]
    assert [near.essence for near in answer.entries[0].neighbors] == ["one", "three"]
    assert [near.essence for near in answer.entries[1].neighbors] == ["two"]
    assert answer.entries[0].session.content_session_id == "walk"
    assert not answer.entries[0].memory.content


async def test_a_deleted_memory_is_gone(house: Caller) -> None:
    """M4: from every rpc; deleting it again is like deleting what never was."""
    session = await a_session(house)
    memory = (await observed(house, session, "the zanzibar protocol", aliases=["zp"])).memory
    await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id))

    again = await refused(house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id)))
    never = await refused(house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=unknown_id())))
    assert again == never == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    read = await house.memory.GetMemories(pb.GetMemoriesRequest(memory_ids=[memory.id]))
    assert list(read.missing_ids) == [memory.id]
    for query in ("zanzibar protocol", "zp"):
        assert not (await house.memory.Search(pb.SearchRequest(query=query))).hits
    assert not (await house.memory.ListMemories(pb.ListMemoriesRequest())).memories


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

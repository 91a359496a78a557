"""Sessions and memories as they are listed, read and deleted, through the front door."""

from __future__ import annotations

import asyncio

from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2, session_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, unknown_id
from tests.rig.observing import INSIGHT, a_session, observed
from tests.rig.refusals import refused


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

"""Deleted memories that come back, through the front door."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import grpc
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import quota_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, unknown_id
from tests.rig.refusals import refused
from tests.rig.rings import (
    EVERYWHERE,
    PROCEDURE,
    SUCCESS,
    a_memory,
    promoted,
    reads,
    superseded,
)


async def test_what_was_deleted_comes_back_as_it_was(house: Caller) -> None:
    """Out of every read at once, and back into each of them: outcomes, ring, labels and place."""
    first = await a_memory(
        house, "The zanzibar protocol.", tags=["t"], aliases=["zp"], actor="Mia", outcome=SUCCESS
    )
    before = await promoted(house, first.id, PROCEDURE, "Ours.")
    deleted = await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.id))
    gone = await reads(house, first)
    back = await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id))
    again = await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id))

    assert deleted.purge_at.ToDatetime() > first.created_at.ToDatetime() + timedelta(hours=23)
    assert gone == []
    assert await reads(house, first) == ["search The zanzibar protocol.", "search zp", *EVERYWHERE]
    back.memory.access_count = again.memory.access_count = before.access_count
    back.memory.touched_at.CopyFrom(before.touched_at)
    again.memory.touched_at.CopyFrom(before.touched_at)
    assert back.memory == again.memory == before
    tagged = await house.memory.Search(pb.SearchRequest(query="protocol", tags=["t"], actor="Mia"))
    assert [hit.memory_id for hit in tagged.hits] == [first.id]


async def test_nothing_is_brought_back_twice(house: Caller) -> None:
    """Not what never was, and not beside what was kept anew since."""
    first = await a_memory(house)
    await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.id))
    await a_memory(house)
    anew = house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id))
    never = house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=unknown_id()))

    assert await refused(anew) == ("ALREADY_EXISTS", "CONTENT_KEPT", [])
    assert await refused(never) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])


async def test_many_deletes_and_undeletes_at_once(house: Caller) -> None:
    """Whatever their order, the memory is there or not as a whole, and its session's count says which."""
    first = await a_memory(house)
    for _ in range(5):
        calls = [
            call
            for _ in range(8)
            for call in (
                house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.id)),
                house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id)),
                house.memory.Reinforce(pb.ReinforceRequest(memory_id=first.id, outcome=SUCCESS)),
            )
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        refusals = {(each.code().name) for each in answers if isinstance(each, grpc.aio.AioRpcError)}
        session = await house.memory.GetSession(pb.GetSessionRequest(session_id=first.session_id))
        there = await reads(house, first)

        assert refusals <= {"NOT_FOUND"}
        assert there in ([], ["search Builds need make.", *EVERYWHERE])
        assert session.session.observation_count == bool(there)
        await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id))


async def test_a_quota_holds_for_what_comes_back_and_what_follows(house: Caller) -> None:
    """Neither an undelete nor a newer fact makes one memory too many, also when many are tried at once."""
    gone = [await a_memory(house, f"Fact {number}.") for number in range(8)]
    for memory in gone:
        await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id))
    kept = await a_memory(house, "The one.")
    quota = quota_pb2.Quota(memories_max=3)
    await house.house.admin.access.SetQuota(
        access_pb.SetQuotaRequest(profile_id=house.profile_id, quota=quota)
    )
    await asyncio.sleep(1.2)  # until the key's answer is asked for anew

    back = await asyncio.gather(
        *(house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=one.id)) for one in gone),
        return_exceptions=True,
    )
    refusals = [each.code().name for each in back if isinstance(each, grpc.aio.AioRpcError)]

    assert refusals == ["RESOURCE_EXHAUSTED"] * 6
    newer = superseded(house, kept.id, "Another one.")
    assert (await refused(newer))[:2] == ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
    assert (await house.memory.GetStats(pb.GetStatsRequest())).memory_count == 3

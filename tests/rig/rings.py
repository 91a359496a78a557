"""Memories that change, as a caller changes them."""

from __future__ import annotations

from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
SUCCESS, FAILURE, NEUTRAL = (
    memory_pb2.OUTCOME_SUCCESS,
    memory_pb2.OUTCOME_FAILURE,
    memory_pb2.OUTCOME_NEUTRAL,
)
FRESH, PROCEDURE, PRACTICE, LONG_TERM, SHOCK = (
    memory_pb2.RING_FRESH,
    memory_pb2.RING_PROCEDURE,
    memory_pb2.RING_PRACTICE,
    memory_pb2.RING_LONG_TERM,
    memory_pb2.RING_SHOCK,
)


async def a_session(caller: Caller, name: str = "s") -> str:
    """The id of an open session."""
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id=name))
    return started.session.id


async def a_memory(caller: Caller, content: str = "Builds need make.", **fields: object) -> memory_pb2.Memory:
    """A memory in an open session."""
    asked = pb.ObserveRequest(session_id=await a_session(caller), content=content, type=INSIGHT)
    asked.MergeFrom(pb.ObserveRequest(**fields))  # pyright: ignore[reportArgumentType]
    return (await caller.memory.Observe(asked)).memory


async def reinforced(
    caller: Caller, memory_id: str, outcome: memory_pb2.Outcome, times: int = 1, key: str = ""
) -> memory_pb2.Memory:
    """The memory after an outcome was recorded so many times, one after the other."""
    request = pb.ReinforceRequest(memory_id=memory_id, outcome=outcome, idempotency_key=key)
    for _ in range(times - 1):
        await caller.memory.Reinforce(request)
    return (await caller.memory.Reinforce(request)).memory


async def promoted(
    caller: Caller, memory_id: str, ring: memory_pb2.Ring, reason: str = "", demote_shock: bool = False
) -> memory_pb2.Memory:
    """The memory after it was put into a ring."""
    request = pb.PromoteRequest(memory_id=memory_id, ring=ring, reason=reason, demote_shock=demote_shock)
    return (await caller.memory.Promote(request)).memory


async def reads(caller: Caller, memory: memory_pb2.Memory) -> list[str]:
    """The rpcs that show or find a memory, of all that might."""
    there, one = caller.memory, [memory.id]
    read: list[tuple[str, list[str]]] = []
    for query in (memory.content, *memory.aliases):
        hits = (await there.Search(pb.SearchRequest(query=query))).hits
        read.append((f"search {query}", [hit.memory_id for hit in hits]))
    timeline = await there.Timeline(pb.TimelineRequest(memory_ids=one))
    read.append(("timeline", [entry.memory.id for entry in timeline.entries]))
    for name, memories in (
        ("get", (await there.GetMemories(pb.GetMemoriesRequest(memory_ids=one))).memories),
        ("list", (await there.ListMemories(pb.ListMemoriesRequest())).memories),
    ):
        read.append((name, [each.id for each in memories]))
    return [name for name, ids in read if memory.id in ids]


EVERYWHERE = ["timeline", "get", "list"]


async def revised(caller: Caller, memory_id: str, content: str = "", **fields: int) -> memory_pb2.Memory:
    """The memory after it was given new content."""
    request = pb.ReviseRequest(memory_id=memory_id, content=content, **fields)
    return (await caller.memory.Revise(request)).memory


async def versions_of(caller: Caller, memory_id: str, page_size: int = 0) -> list[memory_pb2.Version]:
    """All of them, page after page."""
    request = pb.ListVersionsRequest(memory_id=memory_id, page_size=page_size)
    found: list[memory_pb2.Version] = []
    for _ in range(30):
        page = await caller.memory.ListVersions(request)
        found += page.versions
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token
    raise AssertionError("the pages do not end")


async def found_by(caller: Caller, query: str) -> list[str]:
    """What a search finds that clearly answers."""
    answer = await caller.memory.Search(pb.SearchRequest(query=query, precision=pb.PRECISION_STRICT))
    return [hit.memory_id for hit in answer.hits]


async def superseded(caller: Caller, memory_id: str, content: str) -> pb.SupersedeResponse:
    """A memory closed by a newer one."""
    return await caller.memory.Supersede(pb.SupersedeRequest(memory_id=memory_id, content=content))

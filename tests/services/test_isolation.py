"""Two profiles in one house: whatever one asks, the answer is as if the other were not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import pytest
from buf.validate import validate_pb2
from google.protobuf.descriptor import FieldDescriptor
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from services.gateway import catalog
from tests.catalogue.doors import TOOLS, door, message
from tests.rig.foreign import told
from tests.rig.house import Caller, House, unknown_id
from tests.rig.refusals import refused

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
MEMORY = "treering.memory.v1.MemoryService"
ACCESS = "treering.access.v1.AccessService"
WORDS = "harbour crane lifts seventeen containers"
FOREIGN = ("session_id", "memory_id", "memory_ids", "other_memory_id")
"""Every field of MemoryService that takes an id of something in a profile."""
UNKNOWN = "0f8fad5b-d9cb-469f-a165-70867728950e"
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "Observe": {"content": WORDS, "type": "insight"},
    "ObserveBatch": {"observations": [{"content": WORDS, "type": "insight"}]},
    "Search": {"query": WORDS},
    "Reinforce": {"outcome": "success"},
    "Promote": {"ring": "shock"},
    "Revise": {"content": WORDS},
    "Supersede": {"content": WORDS},
    "DismissConflict": {"memory_id": UNKNOWN, "other_memory_id": UNKNOWN},
}
"""What a method needs besides the id."""
METHODS = {method.name: method for method in catalog.load().methods if method.service == MEMORY}
WAYS = ("grpc", "rest", "mcp")
LISTS = ("ListMemories", "ListSessions", "ListZReports")
LONG_AGO = "2001-02-03T04:05:{:02}Z"
NOISE = 100


class Case(NamedTuple):
    """A method and one of its fields that takes an id."""

    rpc: str
    field: str

    def request(self, one: str) -> dict[str, Any]:
        """A request for this id."""
        return {**NEEDED.get(self.rpc, {}), self.field: [one] if self.field.endswith("s") else one}


CASES = [
    Case(name, field.name)
    for name, method in METHODS.items()
    for field in method.takes.fields
    if field.name in FOREIGN
]
TRIES = [(case, way) for case in CASES for way in WAYS if way != "mcp" or case.rpc in TOOLS]


class Neighbor(NamedTuple):
    """Somebody else, and the ids of what is theirs."""

    caller: Caller
    ids: dict[str, list[str]]

    async def holds(self) -> list[bytes]:
        """All that they have."""
        memory = self.caller.memory
        answers = (
            await memory.ListSessions(pb.ListSessionsRequest()),
            await memory.ListMemories(pb.ListMemoriesRequest()),
            await memory.ListZReports(pb.ListZReportsRequest()),
            await memory.GetStats(pb.GetStatsRequest()),
        )
        return [answer.SerializeToString(deterministic=True) for answer in answers]


@pytest.fixture(scope="module")
async def other(house_site: House) -> Neighbor:
    """A profile with an open session, one that has ended with its report, and a memory in each."""
    caller = await house_site.caller()
    sessions: list[str] = []
    memories: list[str] = []
    for name in ("open", "ended"):
        started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id=name))
        sessions.append(started.session.id)
        request = pb.ObserveRequest(session_id=sessions[-1], content=f"{WORDS} {name}", type=INSIGHT)
        memories.append((await caller.memory.Observe(request)).memory.id)
    await caller.memory.EndSession(pb.EndSessionRequest(session_id=sessions[-1]))
    return Neighbor(caller, {field: sessions if field == "session_id" else memories for field in FOREIGN})


def takes_id(field: FieldDescriptor) -> bool:
    """Whether a field's rules ask for a UUID."""
    rules = cast(Any, field.GetOptions()).Extensions[validate_pb2.field]
    return rules.string.uuid or rules.repeated.items.string.uuid


def test_every_id_is_tried() -> None:
    """A field that takes an id and is not in the list here would be tried by nobody."""
    found = {field.name for method in METHODS.values() for field in method.takes.fields if takes_id(field)}

    assert found == set(FOREIGN)


@pytest.mark.parametrize(("case", "way"), TRIES, ids=lambda each: each if each in WAYS else ".".join(each))
async def test_a_foreign_id_is_like_none(other: Neighbor, house: Caller, case: Case, way: str) -> None:
    """M3: over every door the answer is that of a random id, and nothing changes for the other."""
    before = await other.holds()
    nobody, theirs = unknown_id(), other.ids[case.field]
    nothing = await told(house, way, case.rpc, case.request(nobody), nobody)
    foreign = [await told(house, way, case.rpc, case.request(one), one) for one in theirs]

    assert "INVALID_FIELD" not in repr(nothing)
    assert foreign == [nothing] * len(foreign)
    assert await other.holds() == before


@pytest.mark.parametrize(
    "method", [each for each in catalog.load().methods if each.service == ACCESS], ids=lambda each: each.name
)
async def test_a_plain_key_manages_nothing(other: Neighbor, house: Caller, method: catalog.Method) -> None:
    """AccessService answers it alike about what there is, what there is not, and itself."""
    ids = [other.caller, house]
    stub = house.access
    answers: list[object] = []
    for profile_id, key_id in [(unknown_id(), "a" * 12), *((each.profile_id, each.key_id) for each in ids)]:
        values = {
            "profile_id": profile_id,
            "key_id": key_id,
            "name": "n",
            "owner": "o",
            "workspace": "w",
            "profile": "p",
        }
        named = {field.name for field in method.takes.fields}
        request = method.request(**{name: value for name, value in values.items() if name in named})
        call = getattr(stub, method.name)(request)
        answers.append(await refused(call.read() if method.streams else call))

    assert answers == [("PERMISSION_DENIED", "SCOPE_MISSING", [])] * 3


@pytest.mark.parametrize("rpc", LISTS)
@pytest.mark.parametrize("way", WAYS)
async def test_a_page_token_is_its_owners(house: Caller, neighbor: Caller, rpc: str, way: str) -> None:
    """Another profile's token is refused as one that was made up is; its owner goes on with it."""
    for caller in (house, neighbor):
        for number in range(2):
            session_id = await a_session(caller, f"s{number}")
            await caller.memory.Observe(pb.ObserveRequest(session_id=session_id, content="x", type=INSIGHT))
            await caller.memory.EndSession(pb.EndSessionRequest(session_id=session_id))
    first = await door(way, neighbor).call(rpc, {"page_size": 1})
    token = first.body["next_page_token"]
    theirs = await door(way, house).call(rpc, {"page_size": 1, "page_token": token})
    made_up = await door(way, house).call(rpc, {"page_size": 1, "page_token": "A" * len(token)})
    second = await door(way, neighbor).call(rpc, {"page_size": 1, "page_token": token})

    assert theirs.reason == "INVALID_PAGE_TOKEN"
    assert theirs == made_up
    assert second.fine


async def test_numbers_and_scores_are_ones_own(house: Caller, neighbor: Caller) -> None:
    """M3: a hundred memories of another with the same words move no count, rank or digit of a score."""
    session = await a_session(house)
    for number, text in enumerate((WORDS, "The crane was oiled.", "Lunch is at noon.")):
        request = {
            "session_id": session,
            "content": text,
            "type": "insight",
            "occurred_at": LONG_AGO.format(number),
        }
        await house.memory.Observe(message("Observe", request))
    before = await counted(house)
    theirs = await a_session(neighbor)
    noise = [pb.Observation(content=f"{WORDS} {number}", type=INSIGHT, tags=["a"]) for number in range(NOISE)]
    await neighbor.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=theirs, observations=noise))

    assert await counted(house) == before


async def counted(caller: Caller) -> list[bytes]:
    """Statistics and searches."""
    answers = [await caller.memory.GetStats(pb.GetStatsRequest())]
    for query in (WORDS, "crane", "when do we eat?"):
        for precision in (pb.PRECISION_BEST, pb.PRECISION_STRICT):
            answers.append(await caller.memory.Search(pb.SearchRequest(query=query, precision=precision)))
    return [answer.SerializeToString(deterministic=True) for answer in answers]


async def a_session(caller: Caller, name: str = "s") -> str:
    """The id of an open session."""
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id=name))
    return started.session.id

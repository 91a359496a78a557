"""Two who live the same life in one house are answered alike, whoever lived it before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import count
from typing import Any, cast

from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from services.gateway import catalog
from tests.catalogue.doors import Answer, door
from tests.rig.house import Caller, House, unknown_id

MEMORY = "treering.memory.v1.MemoryService"
WORDS = "harbour crane lifts seventeen containers"
LISTS = ("ListMemories", "ListSessions", "ListZReports")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LONG_AGO = "2001-02-03T04:05:{:02}Z"
NOT_LONG_AGO = re.compile(r"(?!2001)\d{4}-\d\d-\d\dT[0-9:.]+Z")
NOISE = 100


async def test_the_same_life_twice(house_site: House) -> None:
    """M3: a trace of every method is answered alike before and after another lived the same life, and more.

    Ids, times and page tokens apart, and how often something was read, which is counted a moment later.
    """
    first = await life(await house_site.caller())
    another = await house_site.caller()
    theirs = await life(another)
    started = await another.memory.StartSession(pb.StartSessionRequest(content_session_id="more"))
    noise = [
        pb.Observation(content=f"{WORDS} {number}", type=memory_pb2.OBSERVATION_TYPE_INSIGHT)
        for number in range(NOISE)
    ]
    await another.memory.ObserveBatch(
        pb.ObserveBatchRequest(session_id=started.session.id, observations=noise)
    )
    second = await life(await house_site.caller())

    methods = {method.name for method in catalog.load().methods if method.service == MEMORY}
    assert methods == {rpc for rpc, _ in first}
    assert first == theirs == second


async def life(caller: Caller) -> list[tuple[str, object]]:
    """What every method answers, well and refused, to one who does all that there is to do."""
    trace = Trace(caller)
    session = (await trace("StartSession", content_session_id="chat", agent_id="bot"))["session"]["id"]
    await trace("StartSession", content_session_id="chat")
    kept = [(await trace("Observe", session_id=session, **observation))["memory"] for observation in seen()]
    await trace("Observe", session_id=session, content="something else", type="insight", idempotency_key="k0")
    await trace("ObserveBatch", session_id=session, observations=list(seen()))
    ids = [memory["id"] for memory in kept]
    for query in (
        {"query": WORDS},
        {"query": "crane", "tags": ["quay"]},
        {"query": "said by Mia", "actor": "Mia"},
        {"query": "the big one", "precision": "strict"},
        {"query": "weather", "session_id": session},
    ):
        await trace("Search", **query)
    await trace("Timeline", memory_ids=ids[:2])
    await trace("GetMemories", memory_ids=[ids[1], unknown_id(), ids[0]])
    await trace("GetMemory", memory_id=ids[0])
    await trace("Reinforce", memory_id=ids[1], outcome="success", idempotency_key="r")
    await trace("Reinforce", memory_id=ids[1], outcome="failure", idempotency_key="r")
    await trace("Promote", memory_id=ids[1], ring="long_term")
    await trace("Promote", memory_id=ids[1], ring="shock", reason="It cost a day.")
    await trace("Revise", memory_id=ids[1], content="The crane was oiled twice.")
    await trace("Revise", memory_id=ids[1], from_version=9)
    await trace("ListVersions", memory_id=ids[1])
    await trace("Supersede", memory_id=ids[2], content="It snowed on the quay.")
    await trace("Supersede", memory_id=ids[2], content="It hailed on the quay.")
    await trace("ListConflicts")
    await trace("DismissConflict", memory_id=ids[0], other_memory_id=ids[1])
    await trace("DeleteMemory", memory_id=ids[0])
    await trace("UndeleteMemory", memory_id=ids[0])
    await trace("DeleteMemory", memory_id=ids[0])
    await trace("DeleteMemory", memory_id=ids[0])
    await trace("GetMemory", memory_id=ids[0])
    await trace("GetZReport", session_id=session)
    await trace("EndSession", session_id=session)
    await trace("Observe", session_id=session, content="too late", type="insight")
    await trace("GetZReport", session_id=session)
    await trace("Brief", topic=WORDS)
    await trace("Brief")
    await trace("StartSession", content_session_id="chat")
    await trace("GetSession", session_id=session)
    for rpc in LISTS:
        token = (await trace(rpc, page_size=1)).get("next_page_token", "")
        await trace(rpc, page_size=1, page_token=token)
        await trace(rpc)
    await trace("ListMemories", session_id=session)
    await trace("GetStats")
    return trace.told


def seen() -> Iterator[dict[str, Any]]:
    """Observations with everything that one can have."""
    for number, text in enumerate(
        (WORDS, "The crane was oiled.", "It rained on the quay.", "Mia called the pilot.")
    ):
        yield {
            "content": text,
            "type": "decision" if number % 2 else "tool_call",
            "outcome": "success" if number else "failure",
            "actor": "Mia" if number % 2 else "Noa",
            "tags": ["quay"] if number % 2 else ["crane", "quay"],
            "aliases": ["the big one"] if number == 1 else [],
            "metadata": {"tool": "radio"},
            "occurred_at": LONG_AGO.format(number),
            "idempotency_key": f"k{number}",
        }


class Trace:
    """Calls methods and writes down what they answer."""

    def __init__(self, caller: Caller) -> None:
        self._door = door("grpc", caller)
        self._numbers = count()
        self._known: dict[str, str] = {}
        self.told: list[tuple[str, object]] = []

    async def __call__(self, rpc: str, **request: Any) -> Mapping[str, Any]:
        """Call, and answer the answer."""
        answer = await self._door.call(rpc, request)
        self.told.append((rpc, self._plain(answer)))
        return answer.body

    def _plain(self, answer: Answer) -> object:
        return self._without(asdict(answer))

    def _without(self, value: Any) -> Any:
        match value:
            case dict():
                fields = cast(dict[str, Any], value)
                # The ids in a brief's text count among its tokens.
                apart = {"access_count", "tokens"} if "entry_count" in fields else {"access_count"}
                return {
                    name: bool(each) if name == "next_page_token" else self._without(each)
                    for name, each in fields.items()
                    if name not in apart
                }
            case list() | tuple():
                return [self._without(each) for each in cast(list[Any], value)]
            case str():
                return NOT_LONG_AGO.sub("<now>", UUID.sub(self._number, value))
            case _:
                return value

    def _number(self, found: re.Match[str]) -> str:
        if found[0] not in self._known:
            self._known[found[0]] = f"<{next(self._numbers)}>"
        return self._known[found[0]]

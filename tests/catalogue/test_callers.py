"""Who calls, and for what: keys, scopes, ids of others, keys of idempotency, page tokens."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import httpx2
import pytest
from treering.access.v1 import access_service_pb2 as access_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.catalogue.doors import (
    GRPC,
    IS_ERROR,
    MCP,
    MCP_HEADERS,
    REST,
    TOOLS,
    Grpc,
    door,
    encoded,
    of_error,
    tool_call,
)
from tests.catalogue.rows import NOBODY
from tests.rig.house import Caller

DOORS = (GRPC, REST, MCP)
INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
NONE_ALG = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
BAD_KEYS = {
    "67 none": [],
    "67 empty": ["Bearer"],
    "67 another scheme": ["Basic dXNlcjpwYXNz"],
    "67 garbage": ["Bearer tr_garbage"],
    "67 well shaped": ["Bearer tr_" + "a" * 64],
    "67 long": ["Bearer " + "x" * 5000],
    "67 not ascii": ["Bearer tr_\xe9"],
    "69 unsigned token": [f"Bearer {NONE_ALG}.e30."],
}


async def answered(caller: Caller, name: str, authorization: list[str]) -> tuple[Any, ...]:
    """What somebody with these headers and nothing else is told; the id of the request left out."""
    if name == GRPC:
        async with grpc.aio.insecure_channel(caller.house.grpc) as channel:
            method = channel.unary_unary("/treering.memory.v1.MemoryService/GetStats", bytes, bytes)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await method(b"", metadata=[("authorization", each) for each in authorization])
            answer = of_error(caught.value)
            return answer.said, answer.reason, answer.message
    headers = [(b"authorization", each.encode("latin-1")) for each in authorization]
    async with httpx2.AsyncClient(base_url=caller.house.http) as http:
        if name == REST:
            response = await http.get("/v1/stats", headers=headers)
        else:
            fixed = [(key.encode(), value.encode()) for key, value in MCP_HEADERS.items()]
            response = await http.post(
                "/mcp", content=encoded(tool_call("GetStats", {})), headers=headers + fixed
            )
    assert response.headers["www-authenticate"].startswith("Bearer")
    told = {key: value for key, value in response.json().items() if key not in ("request_id", "instance")}
    return response.status_code, told["reason"], json.dumps(told)


@pytest.mark.parametrize("name", DOORS)
async def test_whoever_is_not_known_is_told_the_same(house: Caller, name: str) -> None:
    """No key and every kind of wrong one, an expired, a revoked, and a good id with another secret."""
    access = house.house.admin.access
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    request = access_pb.CreateKeyRequest(profile_id=house.profile_id, name="k")
    dated = access_pb.CreateKeyRequest(profile_id=house.profile_id, name="k", expires_at=soon)
    expired, revoked, other = [await access.CreateKey(each) for each in (dated, request, request)]
    await access.RevokeKey(access_pb.RevokeKeyRequest(key_id=revoked.key.id))
    crossed = house.secret.replace(house.key_id, other.key.id)
    await asyncio.sleep(0.4)

    cases = dict(BAD_KEYS)
    cases["66 two keys"] = [f"Bearer {house.secret}", f"Bearer {other.secret}"]
    cases |= {
        what: [f"Bearer {secret}"] for what, secret in (("expired", expired.secret), ("crossed", crossed))
    }
    cases["revoked"] = [f"Bearer {revoked.secret}"]
    if name == GRPC:
        del cases["67 not ascii"]  # its client refuses to send that

    answers = {case: await answered(house, name, headers) for case, headers in cases.items()}

    assert len(set(answers.values())) == 1, answers
    assert answers["67 none"][:2] == ("UNAUTHENTICATED" if name == GRPC else 401, "UNAUTHENTICATED")


@pytest.mark.parametrize("name", DOORS)
async def test_a_key_without_the_scope_is_told_which(house: Caller, name: str) -> None:
    """Row 68; nothing is started."""
    reader = await house.house.caller(scopes=["memory:read"])

    answer = await door(name, reader).call("StartSession", {"content_session_id": "s"})

    assert answer.said == {GRPC: "PERMISSION_DENIED", REST: 403, MCP: IS_ERROR}[name]
    assert answer.reason == "SCOPE_MISSING"
    assert (await door(name, reader).call("ListSessions", {})).body.get("sessions", []) == []


@pytest.mark.parametrize("name", DOORS)
async def test_a_neighbors_id_is_like_one_that_never_was(house: Caller, neighbor: Caller, name: str) -> None:
    """Rows 60 to 62: every word of the answer alike."""
    mine = Grpc(house)
    session = (await mine.call("StartSession", {"content_session_id": "private"})).body["session"]["id"]
    request = {"session_id": session, "content": "A private matter.", "type": "insight"}
    memory = (await mine.call("Observe", request)).body["memory"]["id"]
    await mine.call("EndSession", {"session_id": session})
    theirs = door(name, neighbor)

    for rpc, field, known in (
        ("GetSession", "session_id", session),
        ("GetZReport", "session_id", session),
        ("EndSession", "session_id", session),
        ("GetMemory", "memory_id", memory),
        ("DeleteMemory", "memory_id", memory),
        ("UndeleteMemory", "memory_id", memory),
        ("ListVersions", "memory_id", memory),
        ("Timeline", "memory_ids", [memory]),
        ("ListMemories", "session_id", session),
    ):
        if name == MCP and rpc not in TOOLS:
            continue
        never = [NOBODY] if field == "memory_ids" else NOBODY
        assert await theirs.call(rpc, {field: known}) == await theirs.call(rpc, {field: never})
    assert (await mine.call("GetMemory", {"memory_id": memory})).fine


async def test_a_call_given_up_can_be_made_again(house: Caller) -> None:
    """Row 77: kept or not, with its key it is kept once."""
    session = (await Grpc(house).call("StartSession", {"content_session_id": "s"})).body["session"]["id"]
    for number in range(10):
        request = pb.ObserveRequest(
            session_id=session, content=f"Fact {number}.", type=INSIGHT, idempotency_key=f"key {number}"
        )
        given_up = house.memory.Observe(request)
        await asyncio.sleep(number * 0.003)
        given_up.cancel()
        await house.memory.Observe(request)

    stats = await house.memory.GetStats(pb.GetStatsRequest())
    memories = (await house.memory.ListMemories(pb.ListMemoriesRequest())).memories
    assert stats.memory_count == 10
    assert {memory.reinforcement_count for memory in memories} == {0}


@pytest.mark.parametrize("name", [GRPC, REST])
async def test_a_key_is_for_one_request(house: Caller, name: str) -> None:
    """Row 78: the same again is answered the same, something else is refused."""
    way = door(name, house)
    session = (await way.call("StartSession", {"content_session_id": "s"})).body["session"]["id"]
    request = {"session_id": session, "content": "One.", "type": "insight", "idempotency_key": "k"}
    first = await way.call("Observe", request)

    again = await way.call("Observe", request)
    other = await way.call("Observe", {**request, "content": "Two."})

    assert again.body["memory"]["id"] == first.body["memory"]["id"]
    assert (other.said, other.reason) == (
        "ALREADY_EXISTS" if name == GRPC else 409,
        "IDEMPOTENCY_KEY_REUSED",
    )
    assert (await house.memory.GetStats(pb.GetStatsRequest())).memory_count == 1


@pytest.mark.parametrize("name", DOORS)
async def test_a_page_token_is_for_its_own_list(house: Caller, neighbor: Caller, name: str) -> None:
    """Row 47: cut, altered, of another query, another list, another profile."""
    way = door(name, house)
    for number in range(3):
        await way.call("StartSession", {"content_session_id": f"s{number}"})
    token = (await way.call("ListSessions", {"page_size": 1})).body["next_page_token"]
    flipped = ("B" if token[0] != "B" else "C") + token[1:]

    refusals = [
        await way.call("ListSessions", {"page_token": token[:-4]}),
        await way.call("ListSessions", {"page_token": flipped}),
        await way.call("ListSessions", {"page_token": token, "agent_id": "x"}),
        await way.call("ListZReports", {"page_token": token}),
        await door(name, neighbor).call("ListSessions", {"page_token": token}),
    ]

    said = {GRPC: "INVALID_ARGUMENT", REST: 400, MCP: IS_ERROR}[name]
    assert {(each.said, each.reason, each.fields) for each in refusals} == {
        (said, "INVALID_PAGE_TOKEN", ("page_token",))
    }
    assert (await way.call("ListSessions", {"page_token": token})).fine

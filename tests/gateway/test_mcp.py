"""Tools for agents, through the whole house."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from services.gateway.bodies import BODY_BYTES_MAX
from tests.rig.house import Caller, unknown_id

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")
BEFORE = {"mcp-protocol-version": "2025-11-25"}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


@asynccontextmanager
async def client(house: Caller, era: Era = "auto") -> AsyncGenerator[Client]:
    """The official client, in the current revision or the one before."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {house.secret}"}) as http,
        Client(streamable_http_client(f"{house.house.http}/mcp", http_client=http), mode=era) as agent,
    ):
        yield agent


async def post(house: Caller, body: object, **headers: str) -> httpx2.Response:
    """One message by hand."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await house.http.post("/mcp", content=content, headers=HEADERS | BEFORE | headers)


def message(method: str, **params: object) -> dict[str, object]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(name: str, **arguments: object) -> dict[str, object]:
    """A tool's call."""
    return message("tools/call", name=name, arguments=arguments)


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_observes_and_finds_again(house: Caller, era: Era) -> None:
    """In both revisions, with structured answers that keep the schema they promised."""
    async with client(house, era) as agent:
        await agent.list_tools()  # the client checks every answer against these from here on
        started: Any = await agent.call_tool("memory_session_start", {"content_session_id": f"s-{era}"})
        session_id = started.structured_content["session"]["id"]
        observed: Any = await agent.call_tool(
            "memory_observe",
            {"session_id": session_id, "content": "Blue-green beats rolling.", "type": "insight"},
        )
        found: Any = await agent.call_tool("memory_search", {"query": "Blue-green beats rolling."})
        ended: Any = await agent.call_tool("memory_session_end", {"session_id": session_id})

    memory = observed.structured_content["memory"]
    assert (memory["ring"], memory["source"]) == ("fresh", "mcp")
    assert memory["id"] == found.structured_content["hits"][0]["memory_id"]
    assert found.structured_content == json.loads(found.content[0].text)
    assert ended.structured_content["z_report"]["observation_count"] == 1


@pytest.mark.parametrize(("era", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_both_revisions_are_spoken(house: Caller, era: Era, revision: str) -> None:
    """The client picks the newest that both know."""
    async with client(house, era) as agent:
        assert revision == agent.protocol_version


async def test_only_what_the_key_may_do_is_offered(house: Caller) -> None:
    """A key that reads is shown what reads."""
    reader = await house.house.caller(scopes=["memory:read"])

    async with client(reader) as agent:
        shown = {tool.name: tool for tool in (await agent.list_tools()).tools}
        refused: Any = await agent.call_tool("memory_session_start", {"content_session_id": "s"})

    assert "memory_search" in shown
    assert "memory_observe" not in shown
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in shown.values())
    assert refused.is_error
    assert refused.structured_content["reason"] == "SCOPE_MISSING"


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_service_refuses_is_a_result(house: Caller, era: Era) -> None:
    """An agent can read it and do better."""
    async with client(house, era) as agent:
        missing: Any = await agent.call_tool(
            "memory_observe", {"session_id": unknown_id(), "content": "a", "type": "insight"}
        )
        long: Any = await agent.call_tool("memory_session_start", {"content_session_id": "a" * 256})

    assert missing.is_error
    assert (
        missing.structured_content["reason"],
        missing.structured_content["code"],
    ) == ("SESSION_NOT_FOUND", "session_not_found")
    assert missing.structured_content["request_id"]
    assert [each["field"] for each in long.structured_content["violations"]] == ["content_session_id"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (call("nope"), INVALID_PARAMS),
        (call("memory_observe", session_id="a"), INVALID_PARAMS),
        (call("memory_search", query="a", nope=1), INVALID_PARAMS),
        (call("memory_search", query="a", limit="5"), INVALID_PARAMS),
        (call("memory_search", query="a\0"), INVALID_PARAMS),
        (
            call("memory_observe", session_id="a", content="b", type="insight", idempotency_key="k"),
            INVALID_PARAMS,
        ),
        (message("nope"), UNKNOWN_METHOD),
    ],
)
async def test_a_wrong_call_is_an_error_of_the_protocol(
    house: Caller, body: dict[str, object], code: int
) -> None:
    """Unknown tools, missing arguments, and arguments that are none."""
    assert code == (await post(house, body)).json()["error"]["code"]


async def test_a_wrong_argument_is_named(house: Caller) -> None:
    """With a reason that programs can tell apart."""
    error = (await post(house, call("memory_search", query="a", rings=["fresh", "nope"]))).json()["error"]

    assert error["data"]["reason"] == "INVALID_FIELD"
    assert [each["field"] for each in error["data"]["violations"]] == ["rings[1]"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', PARSE_ERROR),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', PARSE_ERROR),
        (b"[" * 5000, PARSE_ERROR),
        ([message("ping")] * 1000, INVALID_REQUEST),
        (b'"ping"', INVALID_REQUEST),
    ],
    ids=["cut", "twice", "surrogate", "nan", "deep", "batch", "text"],
)
async def test_what_is_no_message_is_refused(house: Caller, body: object, code: int) -> None:
    """As strictly as REST does; batches are no longer part of the protocol."""
    response = await post(house, body)

    assert (400, code) == (response.status_code, response.json()["error"]["code"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer nobody"}, 401),
        ({"origin": "https://evil.example"}, 403),
        ({"host": "evil.example"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
    ],
)
async def test_the_door_is_guarded(house: Caller, headers: dict[str, str], status: int) -> None:
    """Keys, foreign pages, names that were pointed here, forms."""
    response = await post(house, message("tools/list"), **headers)

    assert status == response.status_code
    assert (status == 401) == ("www-authenticate" in response.headers)


async def test_a_message_that_is_too_large_is_not_read(house: Caller) -> None:
    """The limit is REST's."""
    assert (await post(house, b" " * (BODY_BYTES_MAX + 1))).status_code == 413


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_there_are_no_sessions_to_hold_or_end(house: Caller, verb: str) -> None:
    """Every message stands alone, so only POST is there."""
    response = await house.http.request(verb, "/mcp", headers={"mcp-session-id": "guessed"})

    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_a_session_id_means_nothing(house: Caller) -> None:
    """One that somebody made up is neither believed nor needed."""
    response = await post(house, message("tools/list"), **{"mcp-session-id": "guessed"})

    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers

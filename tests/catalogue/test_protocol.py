"""Row 94: what MCP says when a message is not one, a tool is none, or a page is foreign."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.catalogue.doors import MCP_HEADERS, Mcp, encoded, of_response, tool_call
from tests.catalogue.place import Place

PREVIOUS = "2025-11-25"
CURRENT = "2026-07-28"
META = "io.modelcontextprotocol/"


def changed(**fields: Any) -> dict[str, Any]:
    """A good call of a tool, with other fields."""
    return tool_call("GetStats", {}) | fields


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (changed(params={"name": "nothing", "arguments": {}}), -32602),
        (changed(params={"name": "memory_search"}), -32602),
        (changed(params={"name": "memory_search", "arguments": []}), -32602),
        (changed(params={"arguments": {}}), -32602),
        (changed(params={"name": "memory_search", "arguments": {"query": 5}}), -32602),
        (changed(params={"name": "memory_observe", "arguments": {"idempotency_key": "k"}}), -32602),
        (changed(method="nothing"), -32601),
        (changed(method="resources/list", params={}), -32601),
        (changed(jsonrpc="1.0"), -32600),
        (changed(jsonrpc=None), -32600),
        (changed(method=5), -32600),
        (changed(id={"a": 1}), -32600),
        (changed(params=[1]), -32600),
        ({}, -32600),
    ],
    ids=lambda value: str(value)[-60:],
)
async def test_protocol_faults_are_errors_of_the_protocol(
    place: Place, message: dict[str, Any], code: int
) -> None:
    """With the number that JSON-RPC has for them, and with no word of a library."""
    before = await place.holds()

    response = await Mcp(place.caller).post(encoded(message))

    error = response.json()["error"]
    assert error["code"] == code
    assert "ydantic" not in response.text
    assert "Traceback" not in response.text
    assert await place.holds() == before


async def test_a_notification_gets_no_answer(place: Place) -> None:
    """It is accepted, whatever it says."""
    response = await Mcp(place.caller).post(encoded({"jsonrpc": "2.0", "method": "notifications/nothing"}))

    assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize("version", ["1999-01-01", "", "latest", "x" * 500])
async def test_a_revision_that_never_was_is_refused(place: Place, version: str) -> None:
    """400; the two that are spoken are tried elsewhere."""
    response = await Mcp(place.caller).post(
        encoded(tool_call("GetStats", {})), {"mcp-protocol-version": version}
    )

    assert response.status_code == 400
    assert response.json()["error"]["code"] < 0


@pytest.mark.parametrize("version", [PREVIOUS, CURRENT])
async def test_a_domain_error_is_a_result(place: Place, version: str) -> None:
    """In both revisions: `isError`, with what a program and a model can read."""
    message = tool_call("Search", {"query": " "})
    message["params"]["_meta"] = {
        f"{META}protocolVersion": version,
        f"{META}clientInfo": {"name": "catalogue", "version": "1"},
        f"{META}clientCapabilities": {},
    }
    headers = {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "memory_search"}

    result = (await Mcp(place.caller).post(encoded(message), headers)).json()["result"]

    assert result["isError"]
    assert result["structuredContent"]["reason"] == "INVALID_FIELD"
    assert result["structuredContent"]["code"] == "invalid_field"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "http://localhost@evil.example"},
        {"host": "evil.example"},
        {"host": "localhost.evil.example:80"},
    ],
    ids=str,
)
async def test_a_foreign_page_is_refused(place: Place, headers: dict[str, str]) -> None:
    """Though it knows a key."""
    answer = of_response(await Mcp(place.caller).post(encoded(tool_call("GetStats", {})), headers))

    assert (answer.said, answer.reason) == (403, "ORIGIN_REFUSED")


async def test_a_session_id_opens_nothing(place: Place) -> None:
    """There are no sessions of MCP to take over: the key says who calls, each time."""
    stolen = {"mcp-session-id": "0" * 32}
    async with httpx2.AsyncClient(base_url=place.caller.house.http) as nobody:
        refused = await nobody.post(
            "/mcp", content=encoded(tool_call("GetStats", {})), headers=MCP_HEADERS | stolen
        )

    served = await Mcp(place.caller).post(encoded(tool_call("GetStats", {})), stolen)

    assert refused.status_code == 401
    assert served.status_code == 200
    assert "mcp-session-id" not in served.headers


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
async def test_only_post_is_served(place: Place, verb: str) -> None:
    """There is no stream to open and no session to end."""
    response = await place.caller.http.request(verb, "/mcp", headers=MCP_HEADERS)

    assert of_response(response).said == 405

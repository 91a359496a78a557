"""What cannot be read at all: bytes that are no message, bodies that are no JSON, and too much of either."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import grpc
import pytest
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.catalogue.doors import (
    JSON_HEADERS,
    MCP_HEADERS,
    Answer,
    Grpc,
    Mcp,
    encoded,
    of_error,
    of_response,
    tool_call,
)
from tests.catalogue.place import Place
from tests.catalogue.sockets import ANSWER_SECONDS_MAX, spoken
from tests.rig.house import Caller

SEARCH = "/treering.memory.v1.MemoryService/Search"
OBSERVE = "/treering.memory.v1.MemoryService/Observe"
INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
MIB = 1024 * 1024
QUERY = b'"QQ"'
"""Stands in a good body where a bad one has something else."""

Change = Callable[[bytes], bytes]


def instead(value: bytes) -> Change:
    """The body with another value."""
    return lambda body: body.replace(QUERY, value)


def around(before: bytes, after: bytes = b"") -> Change:
    """The body with something before and after it."""
    return lambda body: before + body + after


UNREADABLE: dict[str, Change] = {
    "3 lone surrogate": instead(rb'"\ud800"'),
    "3 surrogates in the wrong order": instead(rb'"\udc00\ud800"'),
    "3 lone surrogate in a key": lambda body: body.replace(b'"query"', rb'"\ud800"'),
    "4 FF FE": instead(b'"\xff\xfe"'),
    "5 overlong": instead(b'"\xc0\x80"'),
    "5 surrogate in UTF-8": instead(b'"\xed\xa0\x80"'),
    "12 raw control character": instead(b'"a\nb"'),
    "36 5,000 digits": instead(b"9" * 5000),
    "37 NaN": instead(b"NaN"),
    "37 Infinity": instead(b"Infinity"),
    "37 -Infinity": instead(b"-Infinity"),
    "38 1e400": instead(b"1e400"),
    "38 1e-400": instead(b"1e-400"),
    "49 33 deep": instead(b"[" * 40 + b"]" * 40),
    "49 900 deep": instead(b"[" * 900 + b"]" * 900),
    "49 5,000 deep": instead(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "49 200,000 deep": instead(b"[" * 200_000 + b"]" * 200_000),
    "51 a key twice": instead(b'"a","query":"b"'),
    "55 UTF-16": lambda body: body.decode().encode("utf-16"),
    "55 byte order mark": around(b"\xef\xbb\xbf"),
    "56 trailing garbage": around(b"", b"x"),
    "56 two documents": lambda body: body + b"\n" + body,
    "56 cut off": lambda body: body[:-1],
    "56 comment": around(b"/* hello */"),
    "56 single quotes": instead(b"'QQ'"),
    "56 trailing comma": instead(b'"QQ",'),
}
NOT_AN_OBJECT: dict[str, Change] = {
    "57 array": around(b"[", b"]"),
    "57 string": lambda _: b'"text"',
    "57 number": lambda _: b"3",
    "57 null": lambda _: b"null",
    "57 batch of 1,000": lambda body: b"[" + b",".join([body] * 1000) + b"]",
}


@pytest.mark.parametrize("case", [*UNREADABLE, *NOT_AN_OBJECT])
async def test_rest_refuses_json_that_parsers_disagree_about(place: Place, case: str) -> None:
    """400 and a problem that repeats nothing of it; the next call works."""
    body = (UNREADABLE | NOT_AN_OBJECT)[case](encoded({"query": "QQ"}))

    response = await place.caller.http.post("/v1/memories:search", content=body, headers=JSON_HEADERS)

    answer = of_response(response)
    assert (answer.said, answer.reason, answer.fields) == (400, "MALFORMED_REQUEST", ())
    await works(place)


@pytest.mark.parametrize("case", [*UNREADABLE, *NOT_AN_OBJECT])
async def test_mcp_refuses_json_that_parsers_disagree_about(place: Place, case: str) -> None:
    """-32700 for what is no JSON, -32600 for what is no message."""
    body = (UNREADABLE | NOT_AN_OBJECT)[case](encoded(tool_call("Search", {"query": "QQ"})))

    response = await Mcp(place.caller).post(body)

    assert response.status_code == 400
    assert response.json()["error"]["code"] == (-32700 if case in UNREADABLE else -32600)
    await works(place)


async def test_an_empty_body_is_an_empty_request(place: Place) -> None:
    """Over REST the fields that it lacks are named; MCP has no message without one."""
    rest = await place.caller.http.post("/v1/memories:search", content=b"", headers=JSON_HEADERS)
    mcp = await Mcp(place.caller).post(b"")

    assert of_response(rest).fields == ("query",)
    assert mcp.json()["error"]["code"] == -32700


@pytest.mark.parametrize(
    "content",
    [
        b"\x0a\x02\xff\xfe",
        b"\x0a\x02\xc0\x80",
        b"\x0a\x03\xed\xa0\x80",
        b"\xff\xff\xff",
        b"\x0a\x05ab",
        b"\x0c",
        b"\x00\x01",
    ],
    ids=["4 FF FE", "5 overlong", "5 surrogate", "cut off tag", "cut off text", "end of no group", "field 0"],
)
async def test_grpc_refuses_bytes_that_are_no_message(place: Place, content: bytes) -> None:
    """INVALID_ARGUMENT, where grpc itself would say UNKNOWN and name its parser."""
    before = await place.holds()

    answer = await sent(place.caller, SEARCH, content)

    assert (answer.said, answer.reason) == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")
    assert "rotobuf" not in answer.message
    assert await place.holds() == before


async def test_messages_nested_too_deep_are_no_message(place: Place) -> None:
    """Row 50: 120 objects within one another."""
    value = b""
    for _ in range(120):  # Value.list_value.values
        value = tagged(6, tagged(1, value))
    entry = tagged(1, b"a") + tagged(2, value)

    answer = await sent(place.caller, OBSERVE, tagged(9, tagged(1, entry)))

    assert (answer.said, answer.reason) == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")
    await works(place)


async def test_unknown_fields_of_messages_are_ignored(place: Place) -> None:
    """Row 53: they come from a newer client; nothing of them is kept."""
    request = pb.ObserveRequest(session_id=place.session_id, content="Newer clients know more.", type=INSIGHT)
    unknown = tagged(1000, b"from the future")

    kept = pb.ObserveResponse.FromString(
        await raw(place.caller, OBSERVE, request.SerializeToString() + unknown)
    )

    read = await place.caller.memory.GetMemory(pb.GetMemoryRequest(memory_id=kept.memory.id))
    assert b"from the future" not in read.SerializeToString()
    assert read.memory.content == request.content


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip], ids=["18 plain", "21 gzip bomb"])
async def test_grpc_ends_at_four_mebibytes(place: Place, compression: grpc.Compression | None) -> None:
    """One byte over is refused, however small it travels."""
    empty = tagged(1, b"").__len__()
    content = tagged(1, b"x" * (4 * MIB + 1 - empty - 3))
    assert len(content) == 4 * MIB + 1

    answer = await sent(place.caller, SEARCH, content, compression=compression)

    assert answer.said == "RESOURCE_EXHAUSTED"
    await works(place)


@pytest.mark.parametrize("path", ["/v1/memories:search", "/mcp"])
async def test_http_ends_at_three_mebibytes(place: Place, path: str) -> None:
    """Row 18: 413 with a limit that programs can read."""
    response = await place.caller.http.post(path, content=b" " * (3 * MIB + 1), headers=MCP_HEADERS)

    answer = of_response(response)
    assert (answer.said, answer.reason) == (413, "VALUE_TOO_LARGE")
    assert response.json()["metadata"] == {"limit": str(3 * MIB)}
    await works(place)


@pytest.mark.parametrize("path", ["/v1/memories:search", "/mcp"])
async def test_an_endless_body_is_not_read_to_its_end(place: Place, path: str) -> None:
    """Row 20: in chunks, of no told length. The connection is closed; who still sends may not hear why."""
    head = "\r\n".join(
        (
            f"POST {path} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {place.caller.secret}",
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
        )
    )
    chunks = (b"10000\r\n" + b" " * 65_536 + b"\r\n" for _ in range(1000))

    said = await spoken(place.caller.house.http, f"{head}\r\n\r\n".encode(), chunks)

    assert not said or said.startswith(b"HTTP/1.1 413 ")
    assert next(chunks)  # it was never asked for all of them
    await works(place)


@pytest.mark.parametrize("path", ["/v1/memories:search", "/mcp"])
async def test_a_body_of_no_told_length_is_refused_by_its_size(place: Place, path: str) -> None:
    """Row 20: it ends, and whoever sent it hears why, over a connection that goes on."""

    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    response = await place.caller.http.post(path, content=chunks(), headers=MCP_HEADERS)

    assert (of_response(response).said, response.headers.get("connection")) == (413, None)
    await works(place)


@pytest.mark.parametrize(
    ("length", "status"),
    [("99999999999", 413), ("-1", 400), ("1e3", 400), ("0x10", 400), ("5, 6", 400), ("", 400)],
)
async def test_a_false_length_is_refused_at_once(place: Place, length: str, status: int) -> None:
    """Row 20: before any of the body has come."""
    head = f"POST /v1/memories:search HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
    key = f"Authorization: Bearer {place.caller.secret}\r\nContent-Type: application/json\r\n\r\n"

    assert (await spoken(place.caller.house.http, (head + key).encode())).startswith(
        f"HTTP/1.1 {status} ".encode()
    )
    await works(place)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip"])
@pytest.mark.parametrize("path", ["/v1/memories:search", "/mcp"])
async def test_bodies_are_not_unpacked(place: Place, path: str, encoding: str) -> None:
    """Row 21: 415, so that nothing small can become large."""
    response = await place.caller.http.post(
        path, content=gzip.compress(b" " * MIB), headers={**MCP_HEADERS, "content-encoding": encoding}
    )

    assert of_response(response).said == 415
    await works(place)


async def test_a_list_is_cut_where_a_message_ends(place: Place, house: Caller) -> None:
    """Row 19: more than 4 MiB of memories come in several pages, none of them refused."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="large"))
    for part in range(3):
        observations = [
            {"content": f"Large {part} {n}", "type": "insight", "metadata": {"a": "é" * 8_000}}
            for n in range(100)
        ]
        request = {"session_id": started.session.id, "observations": observations}
        assert (await Grpc(house).call("ObserveBatch", request)).fine

    seen: list[str] = []
    sizes: list[int] = []
    page: dict[str, Any] = {"page_size": 200}
    for _ in range(5):
        response = await house.http.get("/v1/memories", params=page)
        listed = response.json()
        sizes.append(len(response.content))
        seen += [memory["id"] for memory in listed["memories"]]
        page["page_token"] = listed["next_page_token"]
        if not page["page_token"]:
            break

    assert len(seen) == len(set(seen)) == 300
    assert max(sizes) < 4 * MIB < sum(sizes)


def tagged(number: int, content: bytes) -> bytes:
    """A field of bytes as it travels."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A whole number as it travels."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def raw(
    caller: Caller, path: str, content: bytes, compression: grpc.Compression | None = None
) -> grpc.aio.UnaryUnaryCall[bytes, bytes]:
    """A call whose request is these bytes, over the caller's own connection."""
    method: Any = caller.channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
    return method(content, timeout=ANSWER_SECONDS_MAX, compression=compression)


async def sent(
    caller: Caller, path: str, content: bytes, compression: grpc.Compression | None = None
) -> Answer:
    """How such a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await raw(caller, path, content, compression)
    return of_error(caught.value)


async def works(place: Place) -> None:
    """The next calls over the same connections are answered, and over both nothing was written."""
    told = await place.caller.http.get("/v1/stats")
    counted = await place.caller.memory.GetStats(pb.GetStatsRequest())

    assert json.loads(told.content)["session_count"] == counted.session_count == 1

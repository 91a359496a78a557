"""What travels around a request: paths, verbs, headers, protocols, deadlines."""

from __future__ import annotations

import base64
import json

import grpc
import httpx2
import pytest
from treering.memory.v1 import memory_service_pb2 as pb

from libs.rpc.caller import CONTEXT_KEY
from tests.catalogue.doors import (
    GRPC,
    JSON_HEADERS,
    MCP_HEADERS,
    REST,
    Grpc,
    Rest,
    of_response,
)
from tests.catalogue.place import Place
from tests.catalogue.sockets import spoken
from tests.rig.house import Caller


async def test_an_id_is_read_in_any_case(place: Place) -> None:
    """Row 59: the one other spelling that is the same id everywhere."""
    for name in (GRPC, REST):
        answer = await place.door(name, "GetMemory").call("GetMemory", {"memory_id": place.memory_id.upper()})
        assert answer.body["memory"]["id"] == place.memory_id


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/memories/..%2f..%2fetc%2fpasswd", 400),
        ("/v1/memories/%252e%252e%252f", 400),
        ("/v1/memories/%00", 400),
        ("/v1/memories/%ff%fe", 400),
        ("/v1/memories/a;drop", 400),
        ("/v1/memories/a/b", 404),
        ("/v1/memories/../../etc/passwd", 404),
        ("/v1/memories/", 404),
        ("/v1//memories", 404),
        ("//etc/passwd", 404),
        ("/v1/nothing", 404),
        ("/v2/memories", 404),
        ("/V1/memories", 404),
        ("/v1/memories:nothing", 404),
        ("/v1/stats?a=1", 400),
        ("/v1/sessions?page_size=1&page_size=2", 400),
        ("/v1/sessions?page_size=1&pageSize=2", 400),
        ("/v1/sessions?page_size=%D9%A1", 400),
        ("/v1/sessions?page_size=", 400),
        ("/v1/sessions?agent_id=%ff", 400),
        ("/v1/sessions?state=77", 400),
        ("/v1/sessions?" + "&".join(f"a{n}=1" for n in range(600)), 400),
    ],
)
async def test_paths_mean_one_thing(place: Place, path: str, status: int) -> None:
    """Rows 58 and 73: read once, never unpacked twice, never walked."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {place.caller.secret}\r\n"

    said = await spoken(place.caller.house.http, f"{head}Connection: close\r\n\r\n".encode())

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] == status


@pytest.mark.parametrize("verb", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "GET"])
async def test_another_verb_is_told_which_there_are(place: Place, verb: str) -> None:
    """Row 73: 405 with `Allow`."""
    response = await place.caller.http.request(verb, "/v1/memories:search")

    answer = of_response(response)
    assert (answer.said, answer.reason) == (405, "UNKNOWN_METHOD")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["MemoryService/Nothing", "NothingService/Search", "memoryservice/search"])
async def test_another_method_is_unimplemented(place: Place, path: str) -> None:
    """Row 73."""
    method = place.caller.channel.unary_unary(f"/treering.memory.v1.{path}", bytes, bytes)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await method(b"")

    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert (await Grpc(place.caller).call("GetStats", {})).fine


@pytest.mark.parametrize("path", ["/v1/memories:search", "/mcp"])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/jsonp",
        "",
    ],
)
async def test_only_json_is_read(place: Place, path: str, content_type: str) -> None:
    """Row 71: what a form of a foreign page can send is none."""
    response = await place.caller.http.post(
        path, content=b'{"query":"x"}', headers=MCP_HEADERS | {"content-type": content_type}
    )

    assert of_response(response).said == 415


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "application/json;q=0", "image/*"])
async def test_only_json_is_written(place: Place, accept: str) -> None:
    """Row 72: whoever does not take it is told so, and nothing is done."""
    before = await place.holds()

    response = await place.caller.http.post(
        "/v1/sessions", content=b'{"content_session_id":"x"}', headers=JSON_HEADERS | {"accept": accept}
    )

    assert of_response(response).said == 406
    assert await place.holds() == before


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, application/json;q=0.1"])
async def test_whoever_takes_json_gets_it(place: Place, accept: str) -> None:
    """Also among other things."""
    response = await place.caller.http.get("/v1/stats", headers={"accept": accept})

    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "header",
    [
        b"X-A: a\rb",
        b"X-A: a\x00b",
        b"X A: b",
        b": b",
        b"X-A",
        b"Content-Length: 1\r\nContent-Length: 2",
        b"Host: other",
    ],
    ids=["CR", "NUL", "space in name", "no name", "no colon", "two lengths", "two hosts"],
)
async def test_headers_that_could_be_read_two_ways_are_refused(place: Place, header: bytes) -> None:
    """Row 64: before anything is served."""
    head = f"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {place.caller.secret}\r\n"

    said = await spoken(place.caller.house.http, head.encode() + header + b"\r\n\r\n")

    assert said.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("request_id", ["a b{}", "é", "x" * 65, "<script>", ""])
async def test_a_request_id_that_could_forge_a_line_is_replaced(place: Place, request_id: str) -> None:
    """Row 64: what is reflected holds nothing that could be read as something else."""
    response = await place.caller.http.get("/v1/stats", headers=[(b"x-request-id", request_id.encode())])

    assert len(response.headers["x-request-id"]) == 32


async def test_headers_have_a_limit(place: Place) -> None:
    """Row 65: nine KiB are fine; more than the limit is refused, and the next call works."""
    fine = await place.caller.http.get("/v1/stats", headers={"x-a": "a" * 9 * 1024})
    refused = await place.caller.http.get("/v1/stats", headers={"x-a": "a" * 20 * 1024})
    stub = place.caller.memory
    await stub.GetStats(pb.GetStatsRequest(), metadata=(("x-a", "a" * 9 * 1024),))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetStats(pb.GetStatsRequest(), metadata=(("x-a", "a" * 20 * 1024),))

    assert fine.status_code == 200
    assert (of_response(refused).said, of_response(refused).reason) == (431, "VALUE_TOO_LARGE")
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await Rest(place.caller).call("GetStats", {})).fine
    assert (await Grpc(place.caller).call("GetStats", {})).fine


async def test_no_header_says_who_calls(place: Place, neighbor: Caller) -> None:
    """Row 70: a context from outside, or a profile by its name, changes nothing."""
    forged = base64.b64encode(b"\0" * 120).decode()
    headers = {CONTEXT_KEY: forged, "x-internal-profile": neighbor.profile_id, "x-forwarded-user": "admin"}

    mine = await place.caller.http.get("/v1/stats", headers=headers)
    async with httpx2.AsyncClient(base_url=place.caller.house.http) as nobody:
        refused = await nobody.get("/v1/stats", headers=headers)

    assert (
        mine.json()["memory_count"] == (await place.caller.memory.GetStats(pb.GetStatsRequest())).memory_count
    )
    assert refused.status_code == 401


@pytest.mark.parametrize("port", ["grpc", "http"])
@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" * 50 + b"\xff" * 64,
        b"\0" * 4096 + b"\r\n\r\n",
    ],
    ids=["HTTP/1.1", "TLS", "HTTP/2 garbage", "zeroes"],
)
async def test_another_protocol_hurts_nobody(place: Place, port: str, content: bytes) -> None:
    """Row 74: the connection ends, the others go on."""
    await spoken(place.caller.house.grpc if port == "grpc" else place.caller.house.http, content)

    assert (await Rest(place.caller).call("GetStats", {})).fine
    assert (await Grpc(place.caller).call("GetStats", {})).fine


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.0001])
async def test_a_deadline_that_has_passed_runs_nothing(place: Place, seconds: float) -> None:
    """Row 76."""
    before = await place.holds()

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await place.caller.memory.StartSession(
            pb.StartSessionRequest(content_session_id="late"), timeout=seconds
        )

    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert await place.holds() == before


async def test_a_deadline_of_ten_hours_is_cut(place: Place) -> None:
    """Row 76: it is as good as none."""
    assert await place.caller.memory.GetStats(pb.GetStatsRequest(), timeout=36_000)

"""REST: who gets in, with what in hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from services.gateway.bodies import BODY_BYTES_MAX
from tests.rig.answers import problem
from tests.rig.house import Caller

CHUNK_BYTES = 65_536
JSON = {"content-type": "application/json"}


async def test_every_answer_has_an_id_and_is_not_kept(house: Caller) -> None:
    """The caller's own id if it is a decent one."""
    own = await house.http.get("/v1/stats", headers={"x-request-id": "my-id_1.2"})
    made = await house.http.get("/v1/stats", headers={"x-request-id": "no good\tid"})

    assert own.headers["x-request-id"] == "my-id_1.2"
    assert "no good" not in made.headers["x-request-id"]
    assert (own.headers["cache-control"], own.headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", "Bearer nobody")],
        [("authorization", "Bearer")],
        [("authorization", "Basic YTpi")],
        [("authorization", "{key}"), ("authorization", "{key}")],
        [("x-treering-context-bin", "AAAA")],
    ],
)
async def test_nobody_gets_in_without_one_key(house: Caller, headers: list[tuple[str, str]]) -> None:
    """None, unknown, empty, of another scheme, twice, or forged: all are told the same."""
    async with httpx2.AsyncClient(base_url=house.house.http) as client:
        sent = [(name, value.format(key=f"Bearer {house.secret}")) for name, value in headers]
        response = await client.get("/v1/stats", headers=sent)

    body = problem(response, 401, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"] == 'Bearer realm="treering"'
    assert body["violations"] == []


async def test_a_key_without_the_scope_is_told_which(house: Caller) -> None:
    """Known, but not allowed."""
    response = await house.http.get("/v1/access/keys")

    assert (problem(response, 403, "SCOPE_MISSING"))["metadata"] == {"scope": "admin"}


@pytest.mark.parametrize(
    "path", ["/v1/nope", "/v1", "/v1/sessions/", "/v1/sessions//z-report", "/v2/sessions", "/nope"]
)
async def test_an_unknown_path_is_not_found(house: Caller, path: str) -> None:
    """And told apart from a thing that is not there by its reason."""
    problem(await house.http.get(path), 404, "UNKNOWN_METHOD")


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("PUT", "/v1/sessions", "GET, HEAD, POST"),
        ("GET", "/v1/memories:search", "POST"),
        ("GET", "/v1/sessions/7:end", "POST"),
        ("TRACE", "/v1/stats", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
async def test_another_verb_is_told_which_there_are(
    house: Caller, verb: str, path: str, allowed: str
) -> None:
    """405 with Allow."""
    response = await house.http.request(verb, path)

    problem(response, 405, "UNKNOWN_METHOD")
    assert allowed == ", ".join(sorted(response.headers["allow"].split(", ")))


async def test_head_is_get_without_the_body(house: Caller) -> None:
    """The same headers and nothing else."""
    response = await house.http.head("/v1/stats")

    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 0


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=latin-1"],
)
async def test_a_body_is_json_and_says_so(house: Caller, content_type: str) -> None:
    """A form that a web page could send is no request."""
    body = json.dumps({"content_session_id": "a"})
    response = await house.http.post("/v1/sessions", content=body, headers={"content-type": content_type})

    problem(response, 415, "MALFORMED_REQUEST")


async def test_a_compressed_body_is_not_inflated(house: Caller) -> None:
    """No bomb is ever unpacked."""
    headers = JSON | {"content-encoding": "gzip"}

    problem(
        await house.http.post("/v1/sessions", content=b"\x1f\x8b", headers=headers), 415, "MALFORMED_REQUEST"
    )


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("text/html, application/*;q=0.5", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
        ("text/event-stream", 406),
    ],
)
async def test_an_answer_is_json_for_whoever_takes_it(house: Caller, accept: str, status: int) -> None:
    """And nobody else gets one."""
    assert status == (await house.http.get("/v1/stats", headers={"accept": accept})).status_code


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_that_is_too_large_is_not_read(house: Caller, declared: bool) -> None:
    """Whether it says how large it is or not; the next request is served."""
    content = b" " * (BODY_BYTES_MAX + 1) if declared else blanks(BODY_BYTES_MAX + 1)

    response = await house.http.post("/v1/sessions", content=content, headers=JSON)

    assert {"limit": str(BODY_BYTES_MAX)} == (problem(response, 413, "VALUE_TOO_LARGE"))["metadata"]
    assert (await house.http.get("/v1/stats")).status_code == 200


async def blanks(count: int) -> AsyncIterator[bytes]:
    """A body in chunks."""
    for _ in range(0, count, CHUNK_BYTES):
        yield b" " * CHUNK_BYTES


@pytest.mark.parametrize(
    "body",
    [
        b'{"content_session_id": "a", "content_session_id": "b"}',
        b'{"content_session_id": "\\ud800"}',
        b'{"content_session_id": "\xff\xfe"}',
        b'{"content_session_id": NaN}',
        b'{"content_session_id": 1e400}',
        b"[" * 5000,
        b'\xef\xbb\xbf{"content_session_id": "a"}',
        '{"content_session_id": "a"}'.encode("utf-16"),
        b'{"content_session_id": "a"} x',
        b'["content_session_id"]',
        b'"a"',
        b"{",
    ],
    ids=lambda body: repr(body[:28]),
)
async def test_what_is_no_json_object_is_malformed(house: Caller, body: bytes) -> None:
    """Nothing is guessed, and nothing is kept."""
    problem(await house.http.post("/v1/sessions", content=body, headers=JSON), 400, "MALFORMED_REQUEST")

    assert (await house.http.get("/v1/sessions")).json()["sessions"] == []

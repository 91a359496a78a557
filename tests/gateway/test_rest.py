"""REST: what is said in a request, and what comes back."""

from __future__ import annotations

import pytest

from tests.rig.answers import problem
from tests.rig.house import Caller, unknown_id


async def session_of(house: Caller) -> str:
    """A new session's id."""
    made = await house.http.post("/v1/sessions", json={"content_session_id": "s"})
    return made.json()["session"]["id"]


async def test_what_is_observed_can_be_read_again(house: Caller) -> None:
    """Body, path, query and answer, in the short spellings."""
    session_id = await session_of(house)
    observed = await house.http.post(
        "/v1/observations",
        json={
            "sessionId": session_id,
            "content": "The deploy failed. 油 💡",
            "type": "failure_pattern",
            "outcome": "FAILURE",
            "tags": ["deploy"],
            "metadata": {"tool": "make", "tries": 3, "nested": {"list": [1, None, True]}},
        },
    )
    memory = observed.json()["memory"]

    read = (await house.http.get(f"/v1/memories/{memory['id']}")).json()["memory"]
    listed = await house.http.get("/v1/memories", params={"rings": ["fresh", "SHOCK"], "pageSize": "5"})

    assert observed.status_code == 200
    assert read["content"] == "The deploy failed. 油 💡"
    assert (read["type"], read["outcome"], read["source"]) == ("failure_pattern", "failure", "sdk")
    assert read["metadata"] == {"tool": "make", "tries": 3, "nested": {"list": [1, None, True]}}
    assert read["aliases"] == []
    assert [memory["id"]] == [each["id"] for each in listed.json()["memories"]]


async def test_a_verb_in_the_path_is_a_method(house: Caller) -> None:
    """Ending a session needs no body at all."""
    ended = await house.http.post(f"/v1/sessions/{await session_of(house)}:end")

    assert ended.status_code == 200
    assert ended.json()["session"]["state"] == "ended"
    assert ended.json()["z_report"]["observation_count"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content_session_id"),
        ({"content_session_id": None}, "content_session_id"),
        ({"content_session_id": ""}, "content_session_id"),
        ({"content_session_id": "a\0b"}, "content_session_id"),
        ({"content_session_id": "a" * 256}, "content_session_id"),
        ({"content_session_id": "a\u202eb"}, "content_session_id"),
        ({"content_session_id": "a\u200bb"}, "content_session_id"),
        ({"content_session_id": "a\x1b[31m"}, "content_session_id"),
        ({"content_session_id": 5}, "content_session_id"),
        ({"content_session_id": "a", "agent_id": ["b"]}, "agent_id"),
        ({"content_session_id": "a", "state": "open"}, "state"),
        ({"content_session_id": "a", "source": "ui"}, "source"),
    ],
)
async def test_a_wrong_field_is_named(house: Caller, body: dict[str, object], field: str) -> None:
    """Missing, empty, of another type, too long, invisible, or not one at all."""
    told = problem(await house.http.post("/v1/sessions", json=body), 400, "INVALID_FIELD")

    assert field in [each["field"] for each in told["violations"]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page_size=-1", "page_size"),
        ("page_size=1e3", "page_size"),
        ("page_size=%D9%A1%D9%A2", "page_size"),
        ("page_size=+1", "page_size"),
        ("page_size=4294967296", "page_size"),
        ("page_size=1&page_size=2", "page_size"),
        ("rings=nope", "rings"),
        ("rings=77", "rings"),
        ("rings=unspecified", "rings[0]"),
        ("session_id=7", "session_id"),
        ("offset=3", "offset"),
    ],
)
async def test_a_wrong_parameter_is_named(house: Caller, query: str, field: str) -> None:
    """As a field is."""
    told = problem(await house.http.get(f"/v1/memories?{query}"), 400, "INVALID_FIELD")

    assert field in [each["field"] for each in told["violations"]]


@pytest.mark.parametrize(
    "segment",
    [
        "7",
        "..%2f..%2fetc%2fpasswd",
        "a%2Fb",
        "%00",
        ";drop",
        "%7B0198e7a0-0000-7000-8000-000000000001%7D",
        "urn:uuid:0198e7a0-0000-7000-8000-000000000001",
        "0198e7a0000070008000000000000001",
    ],
)
async def test_an_id_has_one_form(house: Caller, segment: str) -> None:
    """No braces, no prefixes, no paths."""
    told = problem(await house.http.get(f"/v1/memories/{segment}"), 400, "INVALID_FIELD")

    assert [each["field"] for each in told["violations"]] == ["memory_id"]


async def test_an_id_is_read_in_any_case(house: Caller) -> None:
    """Capitals are the same id."""
    session_id = await session_of(house)

    assert session_id == (await house.http.get(f"/v1/sessions/{session_id.upper()}")).json()["session"]["id"]


async def test_what_does_not_exist_and_what_is_somebody_elses_look_alike(
    house: Caller, neighbor: Caller
) -> None:
    """But for the request's id, byte for byte."""
    session_id = await session_of(neighbor)
    same_id = {"x-request-id": "same"}

    theirs = await house.http.get(f"/v1/sessions/{session_id}", headers=same_id)
    nobodys = await house.http.get(f"/v1/sessions/{unknown_id()}", headers=same_id)

    problem(theirs, 404, "SESSION_NOT_FOUND")
    assert nobodys.content == theirs.content


async def test_a_wrong_state_is_a_conflict(house: Caller) -> None:
    """The request is fine; the session is not."""
    session_id = await session_of(house)
    await house.http.post(f"/v1/sessions/{session_id}:end")

    body = {"session_id": session_id, "content": "a", "type": "insight"}
    problem(await house.http.post("/v1/observations", json=body), 409, "SESSION_CLOSED")


async def test_a_field_deep_inside_is_named(house: Caller) -> None:
    """With its place in the list."""
    body = {
        "session_id": await session_of(house),
        "observations": [{"content": "a", "type": "insight"}, {"content": "b"}],
    }
    told = problem(await house.http.post("/v1/observations:batch", json=body), 400, "INVALID_FIELD")

    assert [each["field"] for each in told["violations"]] == ["observations[1].type"]

"""Any text at all is kept as it came or refused by the name of its field, and every door says the same."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from treering.memory.v1 import memory_service_pb2 as pb

from tests.catalogue.doors import BAD_PARAMS, GRPC, IS_ERROR, MCP, REST, Answer, Request
from tests.catalogue.place import SESSION, Place

DOORS = (GRPC, REST, MCP)

EXAMPLES = 50
"""Of each property. The same ones in every run, so that a failure is one for everybody."""
TROUBLE: Final = (
    "aë\u0308👩क\0\x1b\n\r\t \u0085\u00a0\u00ad\u200b\u200c\u200d\u202e\u2028\ufe0f\ufeff\ufffe\ufdfa"
)
"""Joins, hides, turns around, ends lines, or becomes something else."""

bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def texts(longest: int) -> st.SearchStrategy[str]:
    """Anything, what makes trouble, and what is about as long as it may be."""
    near = st.integers(longest - 1, longest + 1)
    return st.one_of(
        st.text(max_size=40),
        st.text(TROUBLE, max_size=12),
        st.tuples(st.sampled_from("xë🌲\ufdfa "), near).map(lambda drawn: drawn[0] * drawn[1]),
        st.tuples(st.just("a"), st.characters(codec="utf-8"), st.just("b")).map("".join),
    )


names = texts(255)
values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(2**53), 2**53) | texts(300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


numbers = itertools.count()


async def everywhere(
    place: Place, rpc: str, request: Callable[[], Request], doors: Sequence[str] = DOORS
) -> list[Answer]:
    """What each door says: all do it, or all refuse it by name. gRPC names every field that is wrong."""
    answers = [await place.door(name, rpc).call(rpc, place.request(request())) for name in doors]
    assert len({answer.fine for answer in answers}) == 1, answers
    if not answers[0].fine:
        assert answers[0].said == "INVALID_ARGUMENT"
        assert all(answer.fields for answer in answers), answers
        assert all(named(answer) <= named(answers[0]) for answer in answers), answers
        assert {answer.said for answer in answers[1:]} <= {400, 413, IS_ERROR, BAD_PARAMS}
    return answers


def named(answer: Answer) -> set[str]:
    """The fields that it names, without what they hold: JSON knows where in an object the fault is."""
    return {field.partition(".")[0] for field in answer.fields}


def observation(**fields: Any) -> Request:
    """An observation that was not made before."""
    return {"session_id": SESSION, "content": f"It rains. {next(numbers)}", "type": "insight", **fields}


def composed(text: str) -> str:
    """A name as it is kept."""
    return unicodedata.normalize("NFC", text).strip()


@bounded
@given(content=texts(50_000))
async def test_any_content(place: Place, content: str) -> None:
    """To the byte, or refused by name."""
    answers = await everywhere(place, "Observe", lambda: observation(content=content))

    for answer in answers:
        if answer.fine:
            memory = answer.body["memory"]
            assume(not memory.get("secrets_removed"))
            read = await place.caller.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory["id"]))
            assert memory["content"] == read.memory.content == content
        else:
            assert answer.fields == ("content",)


@bounded
@given(name=names, agent=names)
async def test_any_session_name(place: Place, name: str, agent: str) -> None:
    """Composed and without spaces around it, or refused by name; through each door the same session."""
    request = {"content_session_id": name, "agent_id": agent}

    answers = await everywhere(place, "StartSession", lambda: request)

    for answer in answers:
        if answer.fine:
            assert answer.body["session"]["content_session_id"] == composed(name)
        else:
            assert set(answer.fields) <= {"content_session_id", "agent_id"}
    assert len({answer.body["session"]["id"] for answer in answers if answer.fine}) <= 1


@bounded
@given(actor=names, tag=names, alias=names)
async def test_any_labels(place: Place, actor: str, tag: str, alias: str) -> None:
    """Each as it came but for composition and spaces, or refused by name and place."""
    answers = await everywhere(
        place, "Observe", lambda: observation(actor=actor, tags=["fine", tag], aliases=[alias])
    )

    for answer in answers:
        if answer.fine:
            memory = answer.body["memory"]
            assume(not memory.get("secrets_removed"))
            assert memory.get("actor", "") == composed(actor)
            assert memory["tags"] == list(dict.fromkeys(["fine", composed(tag)]))
            assert memory["aliases"] == [composed(alias)]
        else:
            assert set(answer.fields) <= {"actor", "tags[1]", "aliases[0]"}


@bounded
@given(query=texts(4000), name=names)
async def test_any_query(place: Place, query: str, name: str) -> None:
    """It finds what it finds, or is refused by name."""
    request = {"query": query, "actor": name, "tags": [name], "limit": 3}

    answers = await everywhere(place, "Search", lambda: request)

    for answer in answers:
        assert answer.fine or set(answer.fields) <= {"query", "actor", "tags[0]"}


@bounded
@given(metadata=st.dictionaries(names, values, max_size=4))
async def test_any_metadata(place: Place, metadata: dict[str, Any]) -> None:
    """The same object, or refused by name."""
    finite = is_finite(metadata)
    doors = DOORS if finite else (GRPC,)

    answers = await everywhere(place, "Observe", lambda: observation(metadata=metadata), doors)

    for answer in answers:
        if answer.fine:
            memory = answer.body["memory"]
            assume(not memory.get("secrets_removed"))
            assert finite
            assert memory.get("metadata", {}) == metadata
        else:
            assert named(answer) == {"metadata"}


@bounded
@given(owner=names, workspace=names, profile=names)
async def test_any_profile(place: Place, owner: str, workspace: str, profile: str) -> None:
    """One profile through both doors, or refused by name."""
    request = {"owner": owner, "workspace": workspace, "profile": profile}

    answers = await everywhere(place, "CreateProfile", lambda: request, (GRPC, REST))

    if answers[0].fine:
        assert answers[0].body == answers[1].body
        made = answers[0].body["profile"]
        assert {name: made[name] for name in request} == {
            name: composed(value) for name, value in request.items()
        }
    else:
        assert set(answers[0].fields) <= request.keys()


@bounded
@given(
    token=texts(512), identifier=st.one_of(names, st.uuids().map(str), st.uuids().map(lambda each: each.hex))
)
async def test_any_token_and_id(place: Place, token: str, identifier: str) -> None:
    """What is none is refused by name; what could be one is not found, or finds nothing."""
    request = {"page_token": token, "session_id": identifier}

    answers = await everywhere(place, "ListMemories", lambda: request)

    for answer in answers:
        assert answer.fine or set(answer.fields) <= {"page_token", "session_id"}


def is_finite(value: object) -> bool:
    """Whether no number in it is more than JSON has."""
    if isinstance(value, dict):
        return all(is_finite(each) for each in cast(dict[str, object], value).values())
    if isinstance(value, list):
        return all(is_finite(each) for each in cast(list[object], value))
    return not isinstance(value, float) or math.isfinite(value)

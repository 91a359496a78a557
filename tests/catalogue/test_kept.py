"""What looks bad and is fine: it is kept as it came, and found again through every door."""

from __future__ import annotations

import pytest
from treering.memory.v1 import memory_service_pb2 as pb

from tests.catalogue.doors import GRPC, MCP, REST, Grpc, Rest, door
from tests.catalogue.place import Place
from tests.rig.house import Caller

DOORS = (GRPC, REST, MCP)
CONTENTS = {
    "6 family": "👩‍👩‍👧‍👦 went home",
    "7 rtl override": "safe\u202egpj.exe",
    "9 tag characters": "hi\U000e0041\U000e0042",
    "10 decomposed": "Zoe\u0308 and Å",
    "11 expands": "\ufdfa" * 1000,
    "12 controls": "\x1b[31mred\x07\x7f\u0085",
    "12 line ends": "a\r\nb\rc\n",
    "8 byte order mark": "\ufeffstart",
    "14 longest": "🌲" * 50_000,
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "80 query syntax": "foo &&& bar | :* ' \" \\ % _ [a-z]*",
    "spaces around": "  around  ",
}
NAMES = {
    "14 longest": "x" * 255,
    "14 longest emoji": "🌲" * 255,
    "63 prototype": "__proto__",
    "63 constructor": "constructor",
    "63 dot": ".",
    "63 dots": "../..",
    "63 null": "null",
    "6 family": "👩‍👩‍👧‍👦",
    "persian": "می\u200cخواهم",
    "hindi": "क्\u200dष",
    "82 like": "%_\\*",
}
QUERIES = {
    "80 operators": "foo &&& bar",
    "80 quote": "'",
    "80 prefix": ":*",
    "80 not": "!!!",
    "80 sql": "'; DROP TABLE memory; --",
    "80 2,000 terms": "a " * 1999 + "b",
    "81 expands": "\ufdfa" * 1000,
    "82 like": "%",
    "82 regex": "(a+)+$",
    "6 emoji": "👩‍👩‍👧‍👦",
    "no letters": "...",
    "7 rtl override": "\u202ecba",
    "14 longest": "x" * 4000,
}


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("case", CONTENTS)
async def test_content_is_kept_as_it_came(place: Place, name: str, case: str) -> None:
    """To the byte, whichever door it came in by."""
    content = f"{CONTENTS[case]}{name}" if len(CONTENTS[case]) < 50_000 else CONTENTS[case]
    request = {"session_id": place.session_id, "content": content, "type": "insight"}

    kept = await place.door(name, "Observe").call("Observe", request)
    read = await place.caller.memory.GetMemory(pb.GetMemoryRequest(memory_id=kept.body["memory"]["id"]))

    assert kept.body["memory"]["content"] == read.memory.content == content


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("case", NAMES)
async def test_names_are_kept_as_they_came(place: Place, name: str, case: str) -> None:
    """As a session's name, an actor and a tag, by which it is found."""
    given = NAMES[case]
    way = place.door(name, "Observe")

    started = await way.call("StartSession", {"content_session_id": given, "agent_id": given})
    request = {
        "session_id": started.body["session"]["id"],
        "content": f"{case} by {name}",
        "type": "insight",
        "actor": given,
        "tags": [given],
        "metadata": {given: given},
    }
    kept = (await way.call("Observe", request)).body["memory"]
    found = await way.call(
        "Search", {"query": f"{case} by {name}", "tags": [given], "actor": given, "limit": 1}
    )

    session = started.body["session"]
    assert (session["content_session_id"], session["agent_id"], kept["actor"]) == (given, given, given)
    assert (kept["tags"], kept["metadata"]) == ([given], {given: given})
    assert [hit["memory_id"] for hit in found.body["hits"]] == [kept["id"]]


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("case", QUERIES)
async def test_a_query_is_never_a_language(place: Place, name: str, case: str) -> None:
    """Whatever is asked is looked for."""
    answer = await place.door(name, "Search").call("Search", {"query": QUERIES[case]})

    assert answer.fine
    assert all(0 <= hit.get("score", 0) <= 1 for hit in answer.body.get("hits", []))


@pytest.mark.parametrize("name", DOORS)
async def test_one_name_in_two_spellings_is_one(house: Caller, name: str) -> None:
    """Row 10: composed and decomposed, of a session, an actor and a tag."""
    way = door(name, house)
    composed, decomposed = "Zo\u00eb", "Zoe\u0308"
    first = await way.call("StartSession", {"content_session_id": composed})
    second = await way.call("StartSession", {"content_session_id": f" {decomposed} "})
    request = {
        "session_id": first.body["session"]["id"],
        "content": "It rains.",
        "type": "insight",
        "actor": composed,
        "tags": [composed, decomposed],
    }
    kept = (await way.call("Observe", request)).body["memory"]
    filters = {"actor": decomposed, "tags_all": [decomposed], "agent_id": ""}
    found = await way.call("Search", {"query": "rain", **filters})

    assert first.body["session"]["id"] == second.body["session"]["id"]
    assert kept["tags"] == [composed]
    assert [hit["memory_id"] for hit in found.body["hits"]] == [kept["id"]]


@pytest.mark.parametrize("name", [GRPC, REST])
async def test_one_profile_in_two_spellings_is_one(place: Place, name: str) -> None:
    """Row 10: of an owner, a workspace and a profile."""
    way = place.door(name, "CreateProfile")
    first = await way.call("CreateProfile", dict.fromkeys(("owner", "workspace", "profile"), "Zo\u00eb"))
    second = await way.call("CreateProfile", dict.fromkeys(("owner", "workspace", "profile"), "Zoe\u0308"))

    assert first.body == second.body


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("size", [0, 1, 200, 10**9, 2**32 - 1])
async def test_a_page_is_never_too_large(place: Place, name: str, size: int) -> None:
    """Row 46: none is the default, more than 200 are 200."""
    answer = await place.door(name, "ListSessions").call("ListSessions", {"page_size": size})

    assert answer.fine


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(
    "extremes",
    [
        {"limit": 10**6},
        {"limit": 2**32 - 1},
        {"min_score": -0.0},
        {"min_score": 1},
        {"min_score": 5e-324},
        {"token_budget": 1},
        {"since": "0001-01-01T00:00:00Z"},
        {"until": "9999-12-31T23:59:59.999999999Z"},
        {"since": "2030-01-01T00:00:00Z", "until": "2020-01-01T00:00:00Z"},
        {"tags": ["a"] * 64},
    ],
    ids=str,
)
async def test_the_limits_themselves_are_fine(place: Place, name: str, extremes: dict[str, object]) -> None:
    """Rows 14, 38, 43, 85 and 86."""
    assert (await place.door(name, "Search").call("Search", {"query": "x", **extremes})).fine


async def test_json_takes_both_cases_and_whole_numbers_however_written(place: Place) -> None:
    """Rows 33 and 52: `memoryIds` and `memory_ids`, 2 and 2.0; enums in any case, long or short."""
    way = Rest(place.caller)

    assert (await way.call("Timeline", {"memoryIds": [place.memory_id], "neighbors": 2.0})).fine
    for kind in ("insight", "INSIGHT", "OBSERVATION_TYPE_INSIGHT"):
        request = {"sessionId": place.session_id, "content": f"As {kind}.", "type": kind}
        assert (await way.call("Observe", request)).body["memory"]["type"] == "insight"


async def test_an_answer_says_the_same_over_grpc_and_rest(place: Place) -> None:
    """Of a memory with everything that one can have."""
    request = {
        "session_id": place.session_id,
        "content": "Everything at once.",
        "type": "insight",
        "outcome": "success",
        "actor": "Zoë",
        "occurred_at": "2026-01-02T03:04:05.123456Z",
        "tags": ["a", "b"],
        "aliases": ["all"],
        "metadata": {"a": [1, 2.5, None, True, {"b": "c"}]},
    }
    kept = (await Grpc(place.caller).call("Observe", request)).body["memory"]

    read = (await Rest(place.caller).call("GetMemory", {"memory_id": kept["id"]})).body["memory"]

    for name in ("id", "content", "actor", "tags", "aliases", "metadata", "occurred_at", "success_score"):
        assert read[name] == kept[name]
    for name in ("type", "outcome", "ring", "stage", "source", "embedding_state"):
        assert kept[name].lower().endswith(read[name])

"""Messages as JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from jsonschema import Draft202012Validator
from treering.access.v1 import access_service_pb2 as access_pb
from treering.access.v1 import quota_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from services.gateway.catalog import load
from services.gateway.rules import required
from services.gateway.schema import Schemas
from tests.rig.specimen import descriptor

COMMENTS = load().comments
for_agents = Schemas(COMMENTS, inputs=True)
for_programs = Schemas(COMMENTS, inputs=True, exact=True)
answers = Schemas(COMMENTS, inputs=False)


def of(message: type[Any]) -> Descriptor:
    """What a message is made of."""
    return message.DESCRIPTOR


@pytest.mark.parametrize(
    ("message", "names"),
    [
        (pb.ObserveRequest, {"session_id", "content", "type"}),
        (pb.ObserveBatchRequest, {"session_id", "observations"}),
        (pb.SearchRequest, {"query"}),
        (pb.ListMemoriesRequest, set[str]()),
        (access_pb.CreateKeyRequest, {"profile_id", "name"}),
    ],
)
def test_required_is_what_an_empty_request_lacks(message: type[Any], names: set[str]) -> None:
    """The rules themselves are asked; nothing says it a second time."""
    assert names == required(of(message)).keys()
    assert names == set(for_agents.message(of(message)).get("required", ()))


def test_rules_are_keywords() -> None:
    """Lengths, ranges, sizes, formats, and what an enum may be."""
    search: Any = for_agents.message(of(pb.SearchRequest))["properties"]

    assert {"type": "string", "minLength": 1, "maxLength": 4000}.items() <= search["query"].items()
    assert {"type": "number", "minimum": 0, "maximum": 1}.items() <= search["min_score"].items()
    assert {"type": "integer", "minimum": 1, "maximum": 1_000_000}.items() <= search["token_budget"].items()
    assert search["rings"]["maxItems"] == 16
    assert search["rings"]["items"]["enum"] == ["fresh", "procedure", "practice", "long_term", "shock"]
    assert search["precision"]["enum"] == ["unspecified", "best", "strict"]
    assert for_agents.message(of(pb.ObserveRequest))["properties"]["session_id"]["format"] == "uuid"


def test_comments_are_descriptions() -> None:
    """Of fields, and of the values that an enum has."""
    properties: Any = for_agents.message(of(pb.SearchRequest))["properties"]

    assert properties["query"]["description"].startswith("What to look for")
    assert "- `shock`: A critical failure; never forgotten." in properties["rings"]["description"]
    assert "unspecified" not in properties["rings"]["description"]


VALID: dict[str, Any] = {
    "session_id": "0198e7a0-0000-7000-8000-000000000001",
    "content": "It works.",
    "type": "insight",
}


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"outcome": "success", "tags": ["a"], "metadata": {"a": [1, {"b": None}]}}, True),
        ({"occurred_at": "2026-01-31T12:00:00.5+01:00"}, True),
        ({"actor": None, "metadata": None, "outcome": None, "tags": None, "occurred_at": None}, True),
        ({"content": None}, False),
        ({"content": ""}, False),
        ({"actor": "a\0"}, False),
        ({"metadata": {"a": ["\0"]}}, False),
        ({"metadata": {"\0": 1}}, False),
        ({"metadata": {"": 1}}, False),
        ({"metadata": []}, False),
        ({"type": "unspecified"}, False),
        ({"type": 9}, False),
        ({"outcome": "unspecified"}, True),
        ({"tags": [None]}, False),
        ({"tags": ["a"] * 65}, False),
        ({"actor": "a" * 256}, False),
        ({"occurred_at": "0000-01-31T12:00:00Z"}, False),
        ({"occurred_at": "2026-06-30T23:59:60Z"}, False),
        ({"occurred_at": "2026-01-31T12:00:00"}, False),
        ({"idempotency_key": "a"}, True),
        ({"idempotencyKey": "a"}, False),
        ({"nope": 1}, False),
    ],
)
def test_programs_are_told_exactly_what_is_taken(change: dict[str, Any], valid: bool) -> None:
    """Null for what is optional; NUL for nothing."""
    from services.gateway.openapi import document

    components = document(load(), "1")["components"]
    schema = for_programs.message(of(pb.ObserveRequest)) | {"components": components}

    assert valid is Draft202012Validator(schema).is_valid(VALID | change)


@pytest.mark.parametrize("inputs", [for_programs, for_agents], ids=["programs", "agents"])
def test_a_large_limit_is_exact_as_digits_and_as_a_number(inputs: Schemas) -> None:
    """From 0 to fifteen nines; signs, letters and empty texts are none."""
    schema = inputs.message(of(quota_pb2.Quota))["properties"]["memories_max"]
    validator = Draft202012Validator(schema)
    most = 10**15 - 1

    assert all(validator.is_valid(value) for value in (0, "0", 7, "7", most, str(most)))
    assert not any(
        validator.is_valid(value) for value in (-1, "-1", most + 1, str(most + 1), "", "1e3", "07")
    )


def test_an_id_that_may_be_empty_says_so() -> None:
    """A rule that an empty value is spared from is a pattern with an empty alternative."""
    schema = for_programs.message(of(pb.SearchRequest))["properties"]["session_id"]

    assert [
        Draft202012Validator(schema).is_valid(value) for value in ("", str(VALID["session_id"]), "7")
    ] == [True, True, False]


def test_answers_say_what_is_always_there() -> None:
    """What cannot be absent is required; what may be is not; nothing is closed."""
    memory: Any = answers.message(of(pb.ObserveResponse))["properties"]["memory"]

    assert {"id", "tags", "ring"} <= set(memory["required"])
    assert not {"success_score", "occurred_at", "metadata"} & set(memory["required"])
    assert "additionalProperties" not in memory
    assert "unspecified" in memory["properties"]["outcome"]["enum"]


def test_every_kind_of_field_has_a_schema() -> None:
    """Also those that no message of ours has yet."""
    properties: Any = answers.message(descriptor("Tree"))["properties"]

    assert properties["seeds"] == {"type": "string"}
    assert properties["sap"] == {"type": "string", "contentEncoding": "base64"}
    assert properties["counts"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert for_agents.message(descriptor("Tree"))["properties"]["seeds"]["type"] == ["string", "integer"]

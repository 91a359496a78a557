"""The OpenAPI document."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from services.gateway.catalog import load
from services.gateway.openapi import document
from tests.rig.specimen import catalog_of, method

CATALOG = load()
DOCUMENT: Any = document(CATALOG, "1.2.3")
OPERATIONS = {
    operation["operationId"]: operation
    for there in DOCUMENT["paths"].values()
    for operation in there.values()
}


def test_every_route_is_described_once() -> None:
    """By an id that no other has."""
    routes = [
        (binding.template.text, binding.verb.lower()) for each in CATALOG.methods for binding in each.bindings
    ]

    assert sorted(routes) == sorted(
        (path, verb) for path, there in DOCUMENT["paths"].items() for verb in there
    )
    assert len(routes) == len(OPERATIONS)


def test_every_pointer_leads_somewhere() -> None:
    """No schema, response or header is missing."""
    for pointer in pointers(DOCUMENT):
        found = DOCUMENT
        for step in pointer.removeprefix("#/").split("/"):
            found = found[step]
        assert found


def pointers(value: Any) -> list[str]:
    """Every ``$ref`` in a document."""
    if isinstance(value, list):
        return [each for item in value for each in pointers(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [each for item in value.values() for each in pointers(item)]


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_schema_is_one(name: str) -> None:
    """By the meta-schema of JSON Schema 2020-12, which is OpenAPI 3.1's."""
    Draft202012Validator.check_schema(DOCUMENT["components"]["schemas"][name])


def test_path_fields_are_not_in_the_body() -> None:
    """Ending a session takes its id from the path and nothing else."""
    end = OPERATIONS["MemoryService_EndSession"]

    assert [(each["name"], each["in"], each["required"]) for each in end["parameters"]] == [
        ("session_id", "path", True)
    ]
    assert end["requestBody"]["content"]["application/json"]["schema"]["properties"] == {}
    assert not end["requestBody"]["required"]


def test_what_has_no_body_takes_its_fields_from_the_query() -> None:
    """With the same rules."""
    listed = {each["name"]: each for each in OPERATIONS["MemoryService_ListMemories"]["parameters"]}

    assert {"query"} == {each["in"] for each in listed.values()}
    assert {"rings", "session_id", "page_size", "page_token"} == listed.keys()
    assert listed["rings"]["schema"]["type"] == "array"


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_how_it_may_be_refused(name: str) -> None:
    """With a problem document for each status."""
    responses = OPERATIONS[name]["responses"]

    assert {"200", "400", "401", "403", "404", "405", "409", "429", "500", "503", "504"} <= responses.keys()
    assert ("requestBody" in OPERATIONS[name]) == ("415" in responses)


def test_reasons_are_explained() -> None:
    """Out of the comments of the enum that has them all."""
    reason = DOCUMENT["components"]["schemas"]["Problem"]["properties"]["reason"]["description"]

    assert "- `SESSION_CLOSED`: The session has ended." in reason
    assert "UNSPECIFIED" not in reason


def test_an_answer_may_be_a_part_of_the_response() -> None:
    """As the binding says."""
    described: Any = document(catalog_of(method('get: "/v1/trees/{id}/branch" response_body: "branch"')), "1")

    answer = described["paths"]["/v1/trees/{id}/branch"]["get"]["responses"]["200"]["content"]
    assert answer["application/json"]["schema"]["$ref"].endswith("specimen.v1.Branch")


def test_how_long_a_call_may_wait_is_described() -> None:
    """Where it is longer than for others."""
    options = '[treering.options.v1.scope]: "tree:read" [treering.options.v1.waits]: true'
    described: Any = document(catalog_of(method('get: "/v1/trees/{id}:wait"', options=options)), "1")

    said = described["paths"]["/v1/trees/{id}:wait"]["get"]["description"]
    assert said == "Takes 65 s at most.\n\nScope: `tree:read`."


def test_further_bindings_and_streams_are_described() -> None:
    """Each binding is an operation of its own; a stream is events."""
    rule = 'get: "/v1/trees/{id}" additional_bindings { put: "/v1/trees/{id}/leaf" body: "branch" }'
    described: Any = document(catalog_of(method(rule, streams="server_streaming: true")), "1")

    assert described["paths"]["/v1/trees/{id}"]["get"]["operationId"] == "TreeService_Grow"
    again = described["paths"]["/v1/trees/{id}/leaf"]["put"]
    assert again["operationId"] == "TreeService_Grow_2"
    assert list(again["responses"]["200"]["content"]) == ["text/event-stream"]
    assert "After 60 s that is `deadline_exceeded`" in again["description"]
    names = {each["name"] for each in described["paths"]["/v1/trees/{id}"]["get"]["parameters"]}
    assert {"id", "rings", "branch.leaf.name", "branch.leaf.vein_count"} <= names

"""Methods as agents see them."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from services.gateway.catalog import load
from services.gateway.tools import tools
from services.gateway.transcoding.reading import named
from services.gateway.transcoding.scalars import Wrong

TOOLS = {tool.shown.name: tool for tool in tools(load())}
SESSION = "0198e7a0-0000-7000-8000-000000000001"


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_shown_whole(name: str) -> None:
    """Name, title, description, and schemas that stand alone."""
    shown = TOOLS[name].shown

    assert shown.title
    assert shown.description
    for schema in (shown.input_schema, shown.output_schema or {}):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
        assert "$ref" not in str(schema)
    assert shown.input_schema["additionalProperties"] is False


def test_hidden_fields_are_not_offered_and_not_taken() -> None:
    """Also within lists."""
    observe, batch = TOOLS["memory_observe"], TOOLS["memory_observe_batch"]

    assert "idempotency_key" not in str(observe.shown.input_schema)
    assert "idempotency_key" not in str(batch.shown.input_schema)
    with pytest.raises(Wrong) as caught:
        batch.request({"session_id": SESSION, "observations": [{"idempotency_key": "a"}]})
    assert named(caught.value).message == "observations[0].idempotency_key: is not a field here"


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("memory_search", (True, True, False)),
        ("memory_session_start", (False, True, False)),
        ("memory_observe", (False, False, False)),
        ("memory_delete", (False, False, True)),
    ],
)
def test_hints_say_what_calling_does(name: str, hints: tuple[bool, bool, bool]) -> None:
    """Read-only, idempotent and destructive come from the method; the world is closed."""
    said: Any = TOOLS[name].shown.annotations

    assert hints == (said.read_only_hint, said.idempotent_hint, said.destructive_hint)
    assert said.open_world_hint is False


def test_arguments_are_a_request() -> None:
    """Enums short, as the schema offers them."""
    request: Any = TOOLS["memory_observe"].request({"session_id": SESSION, "content": "a", "type": "insight"})

    assert (request.session_id, request.content, request.type) == (SESSION, "a", 9)


def test_a_missing_argument_is_named() -> None:
    """Before anything is called."""
    with pytest.raises(Wrong) as caught:
        TOOLS["memory_observe"].request({"session_id": SESSION, "content": "a", "type": None})

    assert named(caught.value).message == "type: is missing"

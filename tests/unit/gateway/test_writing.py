"""Answers into JSON."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as some
from treering.memory.v1 import memory_service_pb2 as pb

from services.gateway.transcoding.reading import UnsupportedField
from services.gateway.transcoding.writing import writer
from tests.rig.specimen import descriptor, message

write = writer(descriptor("Tree"))


def test_what_cannot_be_absent_is_always_there() -> None:
    """Lists, texts, numbers and enums, empty as they may be; times and messages only when given."""
    assert write(message("Tree")()) == {
        "id": "",
        "height": 0.0,
        "girth": 0.0,
        "seeds": "0",
        "rings": 0,
        "alive": False,
        "sap": "",
        "shape": "unspecified",
        "leaves": [],
        "counts": {},
    }


def test_every_kind_has_one_form() -> None:
    """Enums short, times as RFC 3339, wide numbers as strings, bytes as base64, whole numbers whole."""
    tree: Any = message("Tree")(
        seeds=2**60,
        sap=b"a",
        shape=2,
        planted={"seconds": 1769860800, "nanos": 500_000_000},
        growth={"seconds": 3, "nanos": 500_000_000},
        notes={"a": [1, 1.5, None, {"b": True}]},
        branch={"leaf": {"vein_count": 2}},
        counts={"x": 1},
    )

    written = write(tree)

    assert {
        "seeds": str(2**60),
        "sap": "YQ==",
        "shape": "heart",
        "planted": "2026-01-31T12:00:00.500Z",
        "growth": "3.500s",
        "notes": {"a": [1, 1.5, None, {"b": True}]},
        "branch": {"leaf": {"name": "", "vein_count": 2}},
        "counts": {"x": 1},
    }.items() <= written.items()


def test_an_optional_value_is_told_from_none() -> None:
    """Zero that was set is written; what was not set is left out."""
    observe = writer(pb.SearchRequest.DESCRIPTOR)  # pyright: ignore[reportArgumentType]

    assert "limit" not in observe(pb.SearchRequest())
    assert observe(pb.SearchRequest(limit=0))["limit"] == 0


@given(
    some.builds(
        dict,
        id=some.text("aé💡"),
        height=some.floats(-1e9, 1e9),
        rings=some.integers(0, 99),
        alive=some.booleans(),
    )
)
def test_plain_values_are_written_as_protobuf_writes_them(fields: dict[str, Any]) -> None:
    """The same values as its own JSON has."""
    tree = message("Tree")(**fields)
    own = json_format.MessageToDict(tree, preserving_proto_field_name=True)

    assert own.items() <= write(tree).items()


@pytest.mark.parametrize("name", ["Endless", "Unreadable"])
def test_messages_that_cannot_be_written_are_refused_at_the_start(name: str) -> None:
    """Not when the first of them is answered."""
    with pytest.raises(UnsupportedField):
        writer(descriptor(name))

"""Query strings into requests."""

from __future__ import annotations

import pytest

from libs.errors import Malformed
from services.gateway.transcoding.query import PARAMETERS_MAX, parameters, read_query
from services.gateway.transcoding.reading import named
from services.gateway.transcoding.scalars import Wrong
from tests.rig.specimen import descriptor

KNOWN = parameters(descriptor("Tree"), frozenset({"id"}))


def read(query: str) -> dict[str, object]:
    """What a query says."""
    request: dict[str, object] = {}
    read_query(query.encode(), KNOWN, request)
    return request


@pytest.mark.parametrize(
    ("query", "request_"),
    [
        ("", {}),
        ("rings=5&alive=true&height=-1.5e3", {"rings": 5, "alive": True, "height": -1500.0}),
        ("shape=Heart", {"shape": 2}),
        ("seeds=9007199254740993", {"seeds": 9007199254740993}),
        (
            "branch.leaf.name=a%20b&branch.leaf.veinCount=3",
            {"branch": {"leaf": {"name": "a b", "vein_count": 3}}},
        ),
        ("planted=2026-01-31T12%3A00%3A00Z", {"planted": {"seconds": 1769860800, "nanos": 0}}),
        ("growth=1.5s", {"growth": {"seconds": 1, "nanos": 500_000_000}}),
        ("branch.leaf.name=", {"branch": {"leaf": {"name": ""}}}),
        ("branch.leaf.name=%E2%82%AC", {"branch": {"leaf": {"name": "€"}}}),
    ],
)
def test_a_query_says_what_json_would(query: str, request_: dict[str, object]) -> None:
    """Nested fields by dots, in both spellings."""
    assert request_ == read(query)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nope=1", "nope: is not a parameter here"),
        ("id=1", "id: is not a parameter here"),
        ("notes=1", "notes: is not a parameter here"),
        ("leaves=1", "leaves: is not a parameter here"),
        ("rings=1&rings=2", "rings: is given more than once"),
        (
            "branch.leaf.vein_count=1&branch.leaf.veinCount=1",
            "branch.leaf.vein_count: is given more than once",
        ),
        ("rings=", "rings: must be a whole number"),
        ("rings=1e3", "rings: must be a whole number"),
        ("rings=%D9%A1", "rings: must be a whole number"),
        ("rings=+1", "rings: must be a whole number"),
        ("rings=01", "rings: must be a whole number"),
        ("alive=True", "alive: must be true or false"),
        ("alive=1", "alive: must be true or false"),
        ("height=NaN", "height: must be a number"),
        ("height=1e400", "height: is larger than any number of its type"),
        ("shape=", "shape: must be one of unspecified, oval, heart"),
        ("branch.leaf.name=%00", "branch.leaf.name: must not contain NUL characters"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, said: str) -> None:
    """Unknown, repeated, or not what it should be."""
    with pytest.raises(Wrong) as caught:
        read(query)

    assert said == named(caught.value).message


@pytest.mark.parametrize(
    "query", ["branch.leaf.name=%FF", "branch.leaf.name=\xff", "&".join(["rings=1"] * (PARAMETERS_MAX + 1))]
)
def test_a_query_that_is_none_is_refused(query: str) -> None:
    """Bytes that are not UTF-8, and more than anybody needs."""
    with pytest.raises(Malformed):
        read(query)

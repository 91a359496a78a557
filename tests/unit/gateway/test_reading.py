"""JSON objects into requests."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as some
from treering.memory.v1 import memory_pb2, memory_service_pb2

from libs.errors import Invalid
from services.gateway.transcoding.reading import UnsupportedField, named, reader
from services.gateway.transcoding.scalars import Wrong
from tests.rig.specimen import descriptor, message

read_tree = reader(descriptor("Tree"))
read_observe = reader(memory_service_pb2.ObserveRequest.DESCRIPTOR)  # pyright: ignore[reportArgumentType]
read_batch = reader(memory_service_pb2.ObserveBatchRequest.DESCRIPTOR)  # pyright: ignore[reportArgumentType]


def tree(value: object) -> Any:
    """A specimen with one object read into it."""
    return message("Tree")(**read_tree(value))


def wrong(value: object, read: Any = read_tree) -> str:
    """What is said of an object that cannot be read."""
    with pytest.raises(Wrong) as caught:
        read(value)
    return named(caught.value).message


@given(
    some.fixed_dictionaries(
        {},
        optional={
            "id": some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"])),
            "height": some.floats(allow_nan=False, allow_infinity=False),
            "seeds": some.integers(-(2**63), 2**63 - 1).map(str),
            "rings": some.integers(0, 2**32 - 1),
            "alive": some.booleans(),
            "shape": some.sampled_from(["LEAF_SHAPE_OVAL", "LEAF_SHAPE_HEART"]),
            "branch": some.just({"leaf": {"name": "a", "veinCount": 3}}),
            "leaves": some.lists(some.just({"vein_count": 1}), max_size=3),
            "counts": some.dictionaries(some.text("ab"), some.integers(0, 9), max_size=3),
            "planted": some.datetimes().map(lambda when: when.isoformat() + "Z"),
            "growth": some.integers(-(10**9), 10**9).map(lambda ms: f"{ms / 1000:.3f}s"),
            "notes": some.dictionaries(
                some.text("ab", min_size=1), some.lists(some.none() | some.booleans() | some.integers(0, 9))
            ),
        },
    )
)
def test_what_protobuf_reads_is_read_alike(value: dict[str, object]) -> None:
    """Where protobuf's own JSON and ours both take a value, they make the same message of it."""
    assert json_format.ParseDict(value, message("Tree")()) == tree(value)


@pytest.mark.parametrize("spelling", ["heart", "HEART", "Heart", "LEAF_SHAPE_HEART", "leaf_shape_heart"])
def test_an_enum_is_read_in_every_spelling(spelling: str) -> None:
    """Short or as in the proto, in any case."""
    assert tree({"shape": spelling}).shape == 2


def test_enums_are_short_by_their_own_name() -> None:
    """`RING_LONG_TERM` of Ring is `long_term`, and `OBSERVATION_TYPE_TOOL_CALL` is `tool_call`."""
    read = reader(memory_pb2.Memory.DESCRIPTOR)  # pyright: ignore[reportArgumentType]

    assert read({"ring": "long_term", "type": "tool_call"}) == {"ring": 4, "type": 1}


def test_null_is_not_there() -> None:
    """As in protobuf's own JSON."""
    assert read_tree({"id": None, "leaves": None, "shape": None, "notes": None}) == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"idd": "a"}, "idd: is not a field here"),
        ({"branch": {"leaf": {"size": 1}}}, "branch.leaf.size: is not a field here"),
        (
            {"branch": {"leaf": {"vein_count": 1, "veinCount": 1}}},
            "branch.leaf.vein_count: is given in two spellings",
        ),
        ({"leaves": [{}, {"name": 5}]}, "leaves[1].name: must be a string"),
        ({"leaves": [None]}, "leaves[0]: must be an object"),
        ({"leaves": {}}, "leaves: must be an array"),
        ({"counts": {"a": -1}}, "counts.a: must be between 0 and 4294967295"),
        ({"counts": [1]}, "counts: must be an object"),
        ({"branch": []}, "branch: must be an object"),
        ({"alive": "true"}, "alive: must be true or false"),
        ({"alive": 1}, "alive: must be true or false"),
        ([], "body: must be an object"),
    ],
)
def test_a_wrong_value_is_named_where_it_stands(value: object, said: str) -> None:
    """The field is written as the caller would write it."""
    assert said == wrong(value)


@pytest.mark.parametrize(
    "value", ["1", "1e3", "١٢٣", "1_000", " 12\n", 1.5, True, 2**32, -1, math.inf, [], {}]
)
def test_a_whole_number_is_nothing_else(value: object) -> None:
    """No strings, no fractions, nothing out of range."""
    assert wrong({"rings": value}).startswith("rings: must be")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """JSON does not tell 3.0 from 3."""
    assert tree({"rings": 3.0}).rings == 3


@pytest.mark.parametrize("value", [9007199254740993, "9007199254740993"])
def test_wide_numbers_are_exact(value: object) -> None:
    """Also beyond what a double holds, as numbers and as strings."""
    assert tree({"seeds": value}).seeds == 9007199254740993


@pytest.mark.parametrize("value", [2**63, str(2**63), "1e3", "١٢٣", " 1", "01", "", "1.0", "9" * 5000])
def test_wide_numbers_are_still_numbers(value: object) -> None:
    """Their strings hold digits only."""
    assert wrong({"seeds": value}).startswith("seeds: must be")


@pytest.mark.parametrize("field", ["height", "girth"])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "1", True, math.nan, math.inf, 10**400, None.__class__])
def test_a_number_is_finite_and_no_string(field: str, value: object) -> None:
    """NaN is larger than any threshold in Postgres: it never gets there."""
    assert wrong({field: value}).startswith(f"{field}: ")


def test_a_float_has_a_limit_of_its_own() -> None:
    """1e39 is a double, but no float."""
    assert tree({"height": 1e39}).height == 1e39
    assert "larger than any number of its type" in wrong({"girth": 1e39})


@pytest.mark.parametrize("value", ["!!", "YR==", "YQ", "YQ==YQ==", "Y Q==", "YQ==\n", "-_-_", "YQ=", "é"])
def test_bytes_are_canonical_base64(value: str) -> None:
    """One text for one value: no junk, no other alphabet, no stray bits."""
    assert wrong({"sap": value}) == "sap: must be standard base64 with padding"


@pytest.mark.parametrize(("value", "content"), [("YQ==", b"a"), ("", b""), ("+/+/", b"\xfb\xff\xbf")])
def test_bytes_are_read(value: str, content: bytes) -> None:
    """Standard alphabet, padded."""
    assert content == tree({"sap": value}).sap


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-02-30T12:00:00Z",
        "2026-W01-1T00:00:00Z",
        "2026-06-30T23:59:60Z",
        "2026-01-31T24:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-31T12:00:00.1234567891Z",
        "2026-01-31T12:00:00+2500",
        "٢٠٢٦-01-31T12:00:00Z",
        "",
        1769860800,
    ],
)
def test_a_time_is_rfc_3339_with_an_offset(value: object) -> None:
    """Within the years 1 to 9999, and of this calendar."""
    assert wrong({"planted": value}).startswith("planted: must be an RFC 3339 time")


def test_a_time_keeps_its_nanoseconds() -> None:
    """What the database cannot hold is still exact on the wire."""
    planted = tree({"planted": "2026-01-31T13:00:00.123456789+01:00"}).planted

    assert (planted.seconds, planted.nanos) == (1769860800, 123456789)


@pytest.mark.parametrize("value", ["1", "1m", "1.s", "-s", "1.0000000001s", "999999999999s", 5, "1e3s"])
def test_a_duration_is_seconds(value: object) -> None:
    """At most ten thousand years of them."""
    assert wrong({"growth": value}).startswith("growth: must be a duration")


@pytest.mark.parametrize("value", ["NOPE", 1, 77, -1, "", None.__class__, "LEAF_SHAPE_", ["oval"]])
def test_an_enum_has_no_other_names(value: object) -> None:
    """Numbers are not names either."""
    assert wrong({"shape": value}) == "shape: must be one of unspecified, oval, heart"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"content": "a\0b"}, "content"),
        ({"tags": ["a", "\0"]}, "tags[1]"),
        ({"metadata": {"a": {"b": ["x\0"]}}}, "metadata.a.b"),
        ({"metadata": {"a\0": 1}}, "metadata"),
    ],
)
def test_nul_is_refused_everywhere(value: object, field: str) -> None:
    """Wherever a string may stand, keys of open objects included."""
    assert f"{field}: must not contain NUL characters" == wrong(value, read_observe)


def test_an_open_object_holds_no_number_that_a_double_cannot() -> None:
    """It would come back as another."""
    assert (
        wrong({"metadata": {"a": 10**400}}, read_observe)
        == "metadata.a: is larger than any number of its type"
    )


def test_places_in_lists_are_counted() -> None:
    """The hundredth observation is found as easily as the first."""
    value = {"observations": [{"content": "a", "type": "insight"}] * 99 + [{"type": "nope"}]}

    assert wrong(value, read_batch).startswith("observations[99].type: must be one of")


def test_a_wrong_value_is_an_invalid_field() -> None:
    """With a rule that programs can tell apart."""
    with pytest.raises(Wrong) as caught:
        read_tree({"rings": "many"})

    problem = named(caught.value)
    assert isinstance(problem, Invalid)
    assert [(each.field, each.rule) for each in problem.violations] == [("rings", "json.type")]


@pytest.mark.parametrize("name", ["Endless", "Unreadable"])
def test_messages_that_cannot_be_read_are_refused_at_the_start(name: str) -> None:
    """Not when the first caller sends one."""
    with pytest.raises(UnsupportedField):
        reader(descriptor(name))

"""Bad input for the clipboard, through every door: by name, without a trace, and the next call works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from services.clipboard.entries.values import VALUE_BYTES_MAX
from tests.catalogue.doors import BAD_PARAMS, GRPC, IS_ERROR, MCP, REST, door
from tests.rig.house import Caller, unknown_id

GOOD: Final[Mapping[str, Mapping[str, Any]]] = {
    "Set": {"name": "never set", "value": "v"},
    "Get": {"name": "kept"},
    "Peek": {"depth": 0},
    "List": {},
    "Delete": {"name": "kept"},
    "Push": {"value": "v"},
    "Pop": {},
}
PUTS: Final = ("Set", "Push")
READS: Final = ("Get", "Peek", "List")
EVERYWHERE: Final[tuple[str, ...]] = (GRPC, REST, MCP)
JSON_ONLY: Final[tuple[str, ...]] = (REST, MCP)


@dataclass(frozen=True, slots=True)
class Row:
    """One bad input, of the number that it has in the project's catalogue."""

    number: int
    what: str
    rpc: str
    field: str
    changed: Mapping[str, Any]
    doors: tuple[str, ...] = EVERYWHERE
    reason: str = "INVALID_FIELD"
    said: tuple[str, int, str | int] = ("INVALID_ARGUMENT", 400, IS_ERROR)
    """By gRPC, REST and MCP."""

    def __str__(self) -> str:
        """The name of its test."""
        return f"{self.number}-{self.rpc}-{self.field}-{self.what}"


TOO_LARGE: Final = ("INVALID_ARGUMENT", 413, IS_ERROR)
NOT_FOUND: Final = ("NOT_FOUND", 404, IS_ERROR)
NOT_READ: Final = ("INVALID_ARGUMENT", 400, BAD_PARAMS)
"""What is none of a tool's arguments is no call of the tool."""


def _values() -> list[Row]:
    """Values that are not what they say, or too much."""
    wrong = [
        (22, "junk", "base64", "!!"),
        (23, "spare bits", "base64", "YR=="),
        (24, "url alphabet", "base64", "-_-_"),
        (24, "no padding", "base64", "YQ"),
        (25, "two in one", "base64", "YQ==YQ=="),
        (26, "odd", "hex", "abc"),
        (27, "spaces", "hex", "61 62"),
        (27, "prefix", "hex", "0x61"),
    ]
    large = [
        (16, "one byte more", "x" * (VALUE_BYTES_MAX + 1)),
        (17, "bytes, not characters", "x" * (VALUE_BYTES_MAX - 1) + "ë"),
    ]
    rows = [
        Row(number, what, rpc, "value", {"encoding": encoding, "value": value})
        for rpc in PUTS
        for number, what, encoding, value in wrong
    ]
    rows += [
        Row(number, what, rpc, "value", {"value": value}, reason="VALUE_TOO_LARGE", said=TOO_LARGE)
        for rpc in PUTS
        for number, what, value in large
    ]
    rows += [Row(1, "NUL", rpc, "value", {"value": "a\0b"}, said=NOT_READ) for rpc in PUTS]
    rows += [Row(54, "null", rpc, "value", {"value": None}, JSON_ONLY, said=NOT_READ) for rpc in PUTS]
    return rows


def _fields() -> list[Row]:
    """The other fields of what is put in."""
    content_types = ("text/html<script>", "text/plain\r\nX: y", "x/" + "y" * 300, "text", "")
    rows: list[Row] = []
    for rpc in PUTS:
        rows += [
            Row(29, repr(each[:9]), rpc, "content_type", {"content_type": each}) for each in content_types
        ]
        rows += [Row(30, repr(each), rpc, "encoding", {"encoding": each}) for each in ("utf8", "gzip", "")]
        rows += [Row(30, str(each), rpc, "visibility", {"visibility": each}, (GRPC,)) for each in (77, -1)]
        rows += [
            Row(32, str(each), rpc, "visibility", {"visibility": each}, JSON_ONLY, said=NOT_READ)
            for each in ("everyone", 77)
        ]
        rows += [
            Row(number, str(each), rpc, "ttl_seconds", {"ttl_seconds": each})
            for number, each in ((39, 0), (40, -1), (41, 31_536_001))
        ]
        rows += [
            Row(number, str(each), rpc, "ttl_seconds", {"ttl_seconds": each}, JSON_ONLY, said=NOT_READ)
            for number, each in ((42, 2**63 - 1), (35, "1e3"), (35, " 12"), (37, "NaN"))
        ]
        rows += [
            Row(8, "hidden", rpc, field, {field: "a\u200bb"})
            for field in ("created_by_tool", "created_by_model")
        ]
        rows.append(Row(7, "unknown", rpc, "source", {"source": "ui"}, JSON_ONLY, said=NOT_READ))
    return rows


def _names() -> list[Row]:
    """Names and keys with something to hide, and ids in other spellings."""
    names = [
        (7, "rtl override", "a\u202eb"),
        (8, "zero width", "a\u200bb"),
        (9, "tags", "a\U000e0041"),
        (11, "expands", "\u0958" * 255),
        (12, "escape", "\x1b[31m"),
        (13, "blank", " \t"),
        (63, "256 characters", "x" * 256),
    ]
    rows = [
        Row(number, what, rpc, "name", {"name": name})
        for rpc in ("Set", "Get", "Delete")
        for number, what, name in names
    ]
    rows += [
        Row(79, what, rpc, "idempotency_key", {"idempotency_key": key}, (GRPC, REST))
        for rpc in ("Push", "Pop")
        for what, key in (("300 characters", "k" * 300), ("control", "a\x07b"))
    ]
    rows += [
        Row(59, "no dashes", rpc, "profile_id", {"profile_id": unknown_id().replace("-", "")})
        for rpc in READS
    ]
    return rows


def _places() -> list[Row]:
    """Pages and depths that are none, and what is not there."""
    rows = [
        Row(47, "random", "List", "page_token", {"page_token": "A" * 80}, reason="INVALID_PAGE_TOKEN"),
        Row(46, "-1", "List", "page_size", {"page_size": -1}, JSON_ONLY, said=NOT_READ),
        Row(48, "-1", "Peek", "depth", {"depth": -1}, JSON_ONLY, said=NOT_READ),
        Row(48, "2^62", "Peek", "depth", {"depth": 2**62}, JSON_ONLY, said=NOT_READ),
    ]
    missing = {"Get": {"name": "nothing"}, "Delete": {"name": "nothing"}, "Peek": {"depth": 1}}
    rows += [
        Row(60, "nothing", rpc, "", changed, reason="ENTRY_NOT_FOUND", said=NOT_FOUND)
        for rpc, changed in missing.items()
    ]
    rows += [
        Row(61, "nobody's", rpc, "", {"profile_id": unknown_id()}, reason="ENTRY_NOT_FOUND", said=NOT_FOUND)
        for rpc in ("Get", "Peek")
    ]
    return rows


ROWS: Final = (*_values(), *_fields(), *_names(), *_places())


@pytest.fixture(scope="module")
async def place(house_site: Any) -> Caller:
    """A clipboard with one name and one entry on its stack."""
    caller: Caller = await house_site.caller()
    await caller.clipboard.Set(pb.SetRequest(name="kept", value="v"))
    await caller.clipboard.Push(pb.PushRequest(value="v"))
    return caller


@pytest.mark.parametrize(("way", "row"), [(way, row) for row in ROWS for way in row.doors], ids=str)
async def test_a_wrong_field_is_named_and_nothing_is_written(place: Caller, way: str, row: Row) -> None:
    """The exact code, reason and field; nothing is kept or removed; the next call works."""
    before = await place.clipboard.List(pb.ListRequest())
    changed = {**GOOD[row.rpc], **row.changed}

    answer = await door(way, place).call(row.rpc, changed)

    said = row.said[EVERYWHERE.index(way)]
    assert (answer.said, answer.reason) == (said, row.reason), answer
    assert answer.fields == ((row.field,) if row.field else ())
    assert await place.clipboard.List(pb.ListRequest()) == before
    assert (await door(way, place).call("Get", GOOD["Get"])).fine


@pytest.mark.parametrize("way", EVERYWHERE)
@pytest.mark.parametrize(
    ("number", "changed"),
    [
        (28, {"content_type": "image/png"}),
        (41, {"ttl_seconds": 31_536_000}),
        (63, {"name": "__proto__"}),
        (63, {"name": "constructor"}),
        (63, {"name": "x" * 255}),
        (6, {"name": "👩‍👩‍👧‍👦"}),
        (15, {"value": "x" * VALUE_BYTES_MAX}),
    ],
    ids=str,
)
async def test_what_looks_bad_and_is_fine(
    house: Caller, way: str, number: int, changed: Mapping[str, Any]
) -> None:
    """It is kept, and read again by its name."""
    request = {**GOOD["Set"], **changed}

    assert (await door(way, house).call("Set", request)).fine
    assert (await door(way, house).call("Get", {"name": request["name"]})).fine


async def test_composed_or_not_it_is_one_name(house: Caller) -> None:
    """Row 10: the second set replaces the first."""
    for name, way in (("Zoe\u0308", GRPC), ("Zo\u00eb", REST), ("Zoe\u0308", MCP)):
        assert (await door(way, house).call("Set", {"name": name, "value": way})).fine

    [entry] = (await house.clipboard.List(pb.ListRequest())).entries
    assert (entry.name, entry.value) == ("Zo\u00eb", MCP)

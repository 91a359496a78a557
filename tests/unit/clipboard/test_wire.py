"""Messages say what is meant."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from treering.clipboard.v1 import clipboard_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from libs.errors import Invalid
from libs.rpc.caller import Source
from services.clipboard.entries.drafts import Raw
from services.clipboard.entries.entry import Entry, Labels, Visibility
from services.clipboard.entries.values import Encoding
from services.clipboard.entries.wire import of_entry, to_profile, to_raw

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OWN = UUID(int=1)


def an_entry(value: str | None, depth: int | None = None) -> Entry:
    """An entry of the stack if it has a depth."""
    return Entry(
        id=UUID(int=2),
        labels=Labels("" if depth is not None else "n", "text/plain", "tool", "model"),
        depth=depth,
        position=None if depth is None else 9,
        value=value,
        encoding=Encoding.UTF_8,
        size_bytes=1,
        visibility=Visibility.WORKSPACE,
        source=Source.MCP,
        created_at=NOW,
        updated_at=NOW,
        expires_at=NOW,
    )


def test_absent_fields_are_defaults() -> None:
    """Those of the noun, stated once."""
    assert to_raw(pb.PushRequest(value="v")) == Raw("v")
    assert to_raw(pb.SetRequest(name="n", value="v")) == Raw("v")


def test_a_profile_is_the_callers_own_unless_named() -> None:
    """In its one spelling."""
    assert to_profile("", OWN) == OWN
    assert to_profile(str(UUID(int=3)), OWN) == UUID(int=3)
    with pytest.raises(Invalid, match="profile_id"):
        to_profile(UUID(int=3).hex, OWN)


def test_a_value_left_out_is_told_from_an_empty_one() -> None:
    """By a field of its own."""
    left_out, empty = of_entry(an_entry(None)), of_entry(an_entry(""))

    assert (left_out.value, left_out.value_omitted) == ("", True)
    assert (empty.value, empty.value_omitted) == ("", False)


def test_an_entry_has_a_name_or_a_place() -> None:
    """The newest has depth 0, which is not none."""
    named, stacked = of_entry(an_entry("v")), of_entry(an_entry("v", 0))

    assert (named.name, named.HasField("depth"), named.HasField("position")) == ("n", False, False)
    assert (stacked.name, stacked.HasField("depth"), stacked.depth, stacked.position) == ("", True, 0, 9)


def test_numbers_are_those_of_the_contract() -> None:
    """Visibilities here, sources in the caller's context."""
    assert {each.name: each.value for each in Visibility} == {
        name.removeprefix("VISIBILITY_"): number
        for name, number in clipboard_pb2.Visibility.items()
        if number
    }
    assert {each.name: each.value for each in Source} == {
        name.removeprefix("SOURCE_"): number for name, number in clipboard_pb2.Source.items() if number
    }

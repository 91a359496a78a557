"""What is put in is checked once, and two calls that differ are told apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from libs.errors import Invalid
from services.clipboard.entries.drafts import TTL_SECONDS_MAX, Raw, for_name, for_stack
from services.clipboard.entries.entry import Visibility
from services.clipboard.entries.stack import StackEmpty

GRPC = 4
RAW = Raw("v")


def test_what_is_not_said_has_the_defaults() -> None:
    """Private plain text for a day."""
    draft = for_stack(RAW, GRPC)

    assert (draft.labels.content_type, draft.encoding, draft.visibility) == ("text/plain", "utf-8", 1)
    assert draft.ttl == timedelta(hours=24)
    assert (draft.labels.name, draft.labels.tool, draft.labels.model) == ("", "", "")


def test_a_name_is_composed() -> None:
    """However it is spelled it is the same name."""
    assert for_name(" Zoe\u0308 ", RAW, GRPC).labels.name == for_name("Zo\u00eb", RAW, GRPC).labels.name


def test_the_longest_time_is_a_year() -> None:
    """365 days."""
    assert for_stack(replace(RAW, ttl_seconds=TTL_SECONDS_MAX), GRPC).ttl == timedelta(days=365)


@pytest.mark.parametrize("seconds", [0, -1, TTL_SECONDS_MAX + 1, 2**63 - 1, -(2**63)])
def test_other_times_are_refused_before_they_are_added(seconds: int) -> None:
    """None is read as the default."""
    with pytest.raises(Invalid, match="ttl_seconds"):
        for_stack(replace(RAW, ttl_seconds=seconds), GRPC)


@pytest.mark.parametrize("name", ["", " ", "a\u200bb", "x" * 256])
def test_a_name_is_seen(name: str) -> None:
    """Named entries have one."""
    with pytest.raises(Invalid, match="name"):
        for_name(name, RAW, GRPC)


@pytest.mark.parametrize(
    "changed",
    [
        {"value": "w"},
        {"content_type": "text/html"},
        {"encoding": "base64", "value": ""},
        {"visibility": Visibility.PUBLIC},
        {"ttl_seconds": 1},
        {"tool": "t"},
        {"model": "t"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_field_is_part_of_the_signature(changed: dict[str, Any]) -> None:
    """So is the door."""
    signature = for_stack(RAW, GRPC).signature

    assert for_stack(replace(RAW, **changed), GRPC).signature != signature
    assert for_stack(RAW, 2).signature != signature
    assert for_stack(RAW, GRPC).signature == signature


def test_an_empty_stack_has_a_version() -> None:
    """So that its place among other answers is known."""
    assert StackEmpty.at(7).metadata == {"stack_version": "7"}

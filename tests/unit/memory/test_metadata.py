"""What may be attached to an observation, and what is taken out of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from libs.errors import Invalid, TooLarge
from services.memory.memories.metadata import (
    DEPTH_MAX,
    KEY_CHARS_MAX,
    METADATA_BYTES_MAX,
    Metadata,
    canonical,
    clean_metadata,
)


def nested(levels: int) -> Any:
    """Objects inside one another, this many of them."""
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def sized(size: int) -> dict[str, Any]:
    """An object of exactly so many bytes."""
    return {"a": "x" * (size - len('{"a":""}'))}


def test_metadata_at_its_limits_is_kept() -> None:
    """Eight levels, 255 characters of a key and 16 KiB are all fine."""
    for fields in (nested(DEPTH_MAX), {"k" * KEY_CHARS_MAX: 1}, sized(METADATA_BYTES_MAX)):
        assert clean_metadata("metadata", fields).fields == fields


@pytest.mark.parametrize(
    "fields",
    [
        nested(DEPTH_MAX + 1),
        {"a": [[[[[[[[1]]]]]]]]},
        {"k" * (KEY_CHARS_MAX + 1): 1},
        {"": 1},
        {"a\0": 1},
        {"a": "b\0"},
        {"a": ["\ud800"]},
        {"a": math.nan},
        {"a": [math.inf]},
    ],
    ids=repr,
)
def test_metadata_over_a_limit_is_refused(fields: dict[str, Any]) -> None:
    """Depth, keys, characters and numbers each have a rule, and the field is named."""
    with pytest.raises(Invalid) as caught:
        clean_metadata("observations[3].metadata", fields)

    assert not isinstance(caught.value, TooLarge)
    assert [violation.field for violation in caught.value.violations] == ["observations[3].metadata"]


def test_one_byte_over_is_too_large() -> None:
    """Bytes are counted, not characters."""
    with pytest.raises(TooLarge):
        clean_metadata("metadata", sized(METADATA_BYTES_MAX + 1))
    with pytest.raises(TooLarge):
        clean_metadata("metadata", {"a": "ü" * (METADATA_BYTES_MAX // 2)})


def test_secrets_are_taken_out_of_every_text() -> None:
    """Also deep inside, and also where only the key tells that the value is one."""
    secret = "ghp_" + "aB3dE6gH9jK2" * 3
    cleaned = clean_metadata(
        "metadata",
        {"note": f"use {secret}", "deep": [{"token": secret}], "password": "hunter2-and-more", "n": 1},
    )

    text = canonical(cleaned.fields)
    assert secret not in text
    assert "hunter2" not in text
    assert cleaned.secrets_removed == 3
    assert cleaned.fields["n"] == 1


def test_what_is_no_secret_stays() -> None:
    """Whole numbers stay whole, everything else stays as it came."""
    fields = {"tool": "git", "n": 3.0, "x": 1.5, "ok": True, "none": None, "list": ["a", 1.0]}

    assert canonical(clean_metadata("metadata", fields).fields) == (
        '{"list":["a",1],"n":3,"none":null,"ok":true,"tool":"git","x":1.5}'
    )


@pytest.mark.parametrize(
    ("fields", "tool"),
    [({"tool": "git"}, "git"), ({"tool_name": " sh "}, "sh"), ({"tool": 1, "tool_name": "a"}, "a"), ({}, "")],
)
def test_a_tool_is_named_by_either_key(fields: dict[str, Any], tool: str) -> None:
    """`tool` first, then `tool_name`; only texts count."""
    assert Metadata(fields).tool == tool

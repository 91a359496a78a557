"""JSON that every parser reads alike, and no other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from libs.errors import Malformed
from services.gateway.transcoding.strict_json import DEPTH_MAX, DIGITS_MAX, parse, parse_object

VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(10**300), 10**300)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, some.booleans())
def test_all_honest_json_is_read(value: object, ascii_only: bool) -> None:
    """What was written is what is read, escaped or not."""
    assert value == parse(json.dumps(value, ensure_ascii=ascii_only).encode())


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": 1, "a": 2}',
        b'{"b": {"a": 1, "\\u0061": 2}}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e400}',
        b'{"a": ' + b"9" * (DIGITS_MAX + 1) + b"}",
        b'{"a": "\\ud800"}',
        b'{"a": "\\uDC00"}',
        b'{"\\ud800": 1}',
        b'\xef\xbb\xbf{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
        b'{"a": "\xff\xfe"}',
        b'{"a": "\xc0\x80"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\x00"}',
        b'{"a": "\n"}',
        b'{"a": 1} {"a": 2}',
        b'{"a": 1}x',
        b'{"a": 1,}',
        b"{'a': 1}",
        b"",
        b" ",
        b"[" * 900 + b"]" * 900,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"[" * 200_000,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_what_parsers_disagree_about_is_refused(content: bytes) -> None:
    """Nothing that two parsers might read differently gets further."""
    with pytest.raises(Malformed):
        parse(content)


@pytest.mark.parametrize("content", [b"[]", b'"a"', b"1", b"null", b"true"])
def test_a_request_is_an_object(content: bytes) -> None:
    """Other values are JSON, but no request."""
    with pytest.raises(Malformed):
        parse_object(content)


def test_depth_has_a_limit_and_it_is_exact() -> None:
    """So deep is fine, one deeper is not."""
    assert parse(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX)
    with pytest.raises(Malformed, match=str(DEPTH_MAX)):
        parse(b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1))


def test_many_brackets_are_not_much_depth() -> None:
    """A long flat list is as flat as a short one."""
    assert parse(b"[" + b",".join([b"[]"] * 1000) + b"]") == [[]] * 1000

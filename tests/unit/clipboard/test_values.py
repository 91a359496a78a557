"""A value is exactly what it says that it is, within its size."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.errors import Invalid, TooLarge
from libs.values import CONTENT_TYPE_CHARS_MAX, clean_content_type
from services.clipboard.entries.values import (
    VALUE_BYTES_MAX,
    Encoding,
    measured,
)


@given(st.binary(max_size=200))
def test_bytes_are_measured_as_they_are_written(content: bytes) -> None:
    """Whatever the standard library writes is taken, and counted before decoding."""
    in_base64, in_hex = base64.b64encode(content).decode(), content.hex()

    assert measured(in_base64, Encoding.BASE64) == len(in_base64)
    assert measured(in_hex, Encoding.HEX) == measured(in_hex.upper(), Encoding.HEX) == len(in_hex)


@given(st.text(max_size=200))
def test_text_is_measured_in_utf_8(text: str) -> None:
    """Any text is text."""
    assert measured(text, Encoding.UTF_8) == len(text.encode())


@pytest.mark.parametrize(
    "value", ["!!", "YR==", "YQ", "YQ=", "YQ==YQ==", "-_-_", "YQ==\n", " YQ==", "YQ ==", "=", "ä", "YQ=Y"]
)
def test_base64_has_one_spelling(value: str) -> None:
    """Spare bits, other alphabets, missing padding, blanks and two values in one are refused."""
    with pytest.raises(Invalid, match="value: must be base64"):
        measured(value, Encoding.BASE64)


@pytest.mark.parametrize("value", ["a", "61 62", "0x61", "61\n", "6g", "\u0661\u0661", "-1"])
def test_hex_is_digits_only(value: str) -> None:
    """In pairs."""
    with pytest.raises(Invalid, match="value: must be hex"):
        measured(value, Encoding.HEX)


@pytest.mark.parametrize("encoding", Encoding)
def test_nothing_is_a_value(encoding: Encoding) -> None:
    """An empty value is one in every encoding."""
    assert measured("", encoding) == 0


@pytest.mark.parametrize(
    ("value", "encoding"),
    [
        ("x" * VALUE_BYTES_MAX, Encoding.UTF_8),
        ("ë" * (VALUE_BYTES_MAX // 2), Encoding.UTF_8),
        ("A" * VALUE_BYTES_MAX, Encoding.BASE64),
        ("0" * VALUE_BYTES_MAX, Encoding.HEX),
    ],
    ids=["ascii", "two bytes each", "base64", "hex"],
)
def test_the_limit_counts_bytes(value: str, encoding: Encoding) -> None:
    """So many are fine and one more is not, however few characters they are."""
    assert measured(value, encoding) == VALUE_BYTES_MAX
    with pytest.raises(TooLarge, match="2097152") as caught:
        measured(value[:-1] + "ëë", encoding)
    assert [each.field for each in caught.value.violations] == ["value"]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/vnd.api+json", "IMAGE/PNG", "x/" + "y" * 125]
)
def test_content_types_stay_as_they_are(content_type: str) -> None:
    """Type and subtype, up to 127 characters."""
    assert clean_content_type(content_type) == content_type


@pytest.mark.parametrize(
    "content_type",
    [
        *("", "text", "text/", "/plain", "text/plain; charset=utf-8", "text/html<script>", "text/plain\r\n"),
        *("text /plain", "téxt/plain", "a/b/c", ".a/b", "x/" + "y" * (CONTENT_TYPE_CHARS_MAX - 1)),
    ],
)
def test_other_content_types_are_refused(content_type: str) -> None:
    """No parameters, no markup, no line ends."""
    with pytest.raises(Invalid, match="content_type"):
        clean_content_type(content_type)

"""Nothing hides in a name, and a text is kept as it came."""

from __future__ import annotations

import pytest

from libs.errors import Invalid, TooLarge
from libs.language.names import clean_name, clean_text


@pytest.mark.parametrize(
    "name",
    [
        "José",
        "日本 語",
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧",
        "👩🏽\u200d💻",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "C++",
        "🫨",
    ],
)
def test_names_in_any_script_stay(name: str) -> None:
    """Joiners where a script or an emoji needs them included."""
    assert clean_name("actor", name, 40) == name


def test_a_name_is_normalised_and_trimmed() -> None:
    """One name, however its accents were typed."""
    assert clean_name("actor", "  Jose\u0301 ", 4) == "José"


@pytest.mark.parametrize(
    "name",
    [
        "a\0b",
        "a\x1b[31mred",
        "a\nb",
        "a\x85b",
        "a\u202eb",
        "a\u2066b",
        "a\u200bb",
        "\ufeffa",
        "a\u200db",
        "a\u200cb",
        "a\u00adb",
        "🏴\U000e0067\U000e007f",
        "a\U000e0041",
        "a\ufe0f",
        "a\U000e0100",
        "a\u3164",
        "a\u2028b",
        "a\ud800",
        "a\uffff",
    ],
)
def test_what_cannot_be_seen_is_refused(name: str) -> None:
    """Controls, overrides, zero width, tags, selectors, fillers: field and character are named."""
    with pytest.raises(Invalid) as refused:
        clean_name("tags[2]", name, 40)

    [violation] = refused.value.violations
    assert violation.field == "tags[2]"
    assert "U+" in violation.description


@pytest.mark.parametrize("name", ["", "   ", "\n\t", "\u3000"])
def test_an_empty_name_is_refused(name: str) -> None:
    """White space is no name."""
    with pytest.raises(Invalid, match="actor: must not be empty"):
        clean_name("actor", name, 40)


def test_length_counts_after_normalising() -> None:
    """At the limit it is taken, above it the refusal names the limit."""
    assert len(clean_name("actor", "e\u0301" * 40, 40)) == 40
    with pytest.raises(Invalid, match="at most 40 characters, not 41"):
        clean_name("actor", "x" * 41, 40)
    with pytest.raises(Invalid, match="at most 40"):
        clean_name("actor", "a" + "\u0301\u0316" * 25_000, 40)


@pytest.mark.parametrize(
    "text",
    [
        " leading and trailing \r\n",
        "e\u0301",
        "\u202eoverride",
        "a\u200bb",
        "\x1b[31m",
        "👨\u200d👩\u200d👧",
        "🫨",
    ],
)
def test_a_text_is_kept_byte_for_byte(text: str) -> None:
    """Contents are not names: what is odd in them is theirs."""
    assert clean_text("content", text, 100) == text


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "ok \udfff"])
def test_what_no_store_can_keep_is_refused(text: str) -> None:
    """NUL and halves of surrogate pairs."""
    with pytest.raises(Invalid, match=r"^content: must not hold"):
        clean_text("content", text, 100)


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u2003"])
def test_a_text_of_nothing_is_refused(text: str) -> None:
    """White space alone is no text."""
    with pytest.raises(Invalid, match="content: must not be empty"):
        clean_text("content", text, 100)


def test_a_long_text_is_too_large() -> None:
    """At the limit it is taken; above it the refusal is of its own kind and names both numbers."""
    assert clean_text("content", "🦊" * 100, 100)
    with pytest.raises(TooLarge, match="content: must have at most 100 characters, not 101") as refused:
        clean_text("content", "x" * 101, 100)
    assert refused.value.violations[0].field == "content"

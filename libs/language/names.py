"""What people may call things, and which texts may be kept.

A name is shown, logged and compared, so nothing may hide in it. A text is kept as it came.
"""

from __future__ import annotations

import re
import unicodedata

from libs.errors import Invalid, TooLarge, Violation, invalid

_RAW_CHARS_PER_CHAR = 4
"""A name longer than this many times its limit is refused before it is normalised."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK_CATEGORIES = ("Zs", "Zl", "Zp", "Cc", "Cf")
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Controls, ANSI escapes, overrides of direction, zero width, tags, line breaks."""
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef\ufdd0-\ufdef\ufffe\uffff]"
)
"""Fillers, blank letters and variation selectors, which other categories hide."""
_JOINERS = "\u200c\u200d"
_EMOJI_STYLES = "\ufe0e\ufe0f"
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u18af\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
"""Scripts in which a joiner changes how letters meet: Arabic, Indic and their kin."""
_EMOJI = re.compile("[\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff\ufe0f]")
_STYLED = re.compile(
    "[#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
"""Characters that have a text and an emoji style."""


def clean_name(field: str, value: str, max_chars: int) -> str:
    """A name in NFC without white space around it.

    Raises ``Invalid`` naming the field when nothing is left, when more than ``max_chars`` code points are,
    or when something in it cannot be seen.
    """
    if len(value) > max_chars * _RAW_CHARS_PER_CHAR:
        raise _too_long(field, len(value), max_chars)
    name = unicodedata.normalize("NFC", value).strip()
    if not name:
        raise invalid(field, "must not be empty", "string.min_len")
    if len(name) > max_chars:
        raise _too_long(field, len(name), max_chars)
    if not name.isascii() or not name.isprintable():
        _refuse_hidden(field, name)
    return name


def clean_text(field: str, value: str, max_chars: int) -> str:
    """The text itself, unchanged.

    Raises ``TooLarge`` above ``max_chars`` code points, ``Invalid`` for a text of nothing but white space and
    for characters that cannot be kept: NUL and lone surrogates.
    """
    if len(value) > max_chars:
        description = f"must have at most {max_chars} characters, not {len(value)}"
        raise TooLarge(
            f"{field}: {description}", violations=(Violation(field, description, "string.max_len"),)
        )
    if "\0" in value:
        raise invalid(field, "must not hold the character U+0000", "string.characters")
    if not value.isascii() and _SURROGATE.search(value):
        raise invalid(field, "must not hold half of a surrogate pair", "string.characters")
    if all(unicodedata.category(char) in _BLANK_CATEGORIES for char in value):
        raise invalid(field, "must not be empty", "string.min_len")
    return value


def _too_long(field: str, chars: int, max_chars: int) -> Invalid:
    return invalid(field, f"must have at most {max_chars} characters, not {chars}", "string.max_len")


def _refuse_hidden(field: str, name: str) -> None:
    for at, char in enumerate(name):
        if _is_hidden(name, at, char):
            description = f"must not hold the invisible character U+{ord(char):04X} (position {at + 1})"
            raise invalid(field, description, "string.characters")


def _is_hidden(name: str, at: int, char: str) -> bool:
    """Whether a character cannot be seen where it stands."""
    before, after = name[at - 1 : at], name[at + 1 : at + 2]
    if char in _JOINERS:
        return not (
            _between(_JOINING, before, after) or (char == "\u200d" and _between(_EMOJI, before, after))
        )
    if char in _EMOJI_STYLES:
        return not _STYLED.match(before)
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or bool(_HIDDEN.match(char))


def _between(kind: re.Pattern[str], before: str, after: str) -> bool:
    return bool(kind.match(before) and kind.match(after))

"""The patterns of names and texts say what `libs.language.names` does."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as some

from libs.errors import Invalid
from libs.language.names import clean_name, clean_text
from services.gateway.characters import NAME, TEXT, or_empty

NEIGHBORLY = "\u200c\u200d\ufe0e\ufe0f"
"""Fine between some characters, which no pattern knows."""
STRINGS = some.text(
    some.characters(exclude_categories=["Cs"], exclude_characters=NEIGHBORLY), min_size=1, max_size=20
)
MIXED = some.text(
    " \n\t\x00\x1b\x85\xa0\xad\u200b\u2028\u202e\u3000\ufeff\U000e0020ab", min_size=1, max_size=6
)


def takes(clean: Callable[[str, str, int], str], value: str) -> bool:
    """Whether a string passes."""
    try:
        clean("field", value, 255)
    except Invalid:
        return False
    return True


@given(STRINGS | MIXED)
@example("\n a \t")
@example("a\nb")
@example("\u0130")
def test_a_name_matches_exactly_when_it_is_taken(value: str) -> None:
    """White space around it is no harm; anything else that hides is."""
    assert takes(clean_name, value) == bool(re.search(NAME, value))


@given(MIXED)
def test_a_text_matches_exactly_when_it_is_taken(value: str) -> None:
    """Something in it must be seen."""
    assert takes(clean_text, value) == bool(re.search(TEXT, value))


def test_what_is_optional_may_be_empty_but_not_blank() -> None:
    """An empty name is none; a blank one is a mistake."""
    assert re.search(or_empty(NAME), "")
    assert not re.search(or_empty(NAME), " ")

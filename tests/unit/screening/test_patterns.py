"""Every pattern finds its example and leaves its counter-example; none can be made slow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.screening.patterns import GAP_MAX, Pattern, Sequence, Step, compiled, load
from libs.screening.reading import Words, occurrences
from libs.screening.screener import Screener

PATTERNS = load().patterns
SCREENER = Screener()
ROW = {
    "id": "x",
    "category": "c",
    "severity": "low",
    "scope": "all",
    "example": "red tea",
    "counter_example": "tea",
}


def catalogue(*match: str, **words: str) -> dict[str, Any]:
    """One pattern, and the words that it may name."""
    return {"words": {"talk": "says", **words}, "pattern": [{**ROW, "match": list(match)}]}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.id)
def test_pattern_keeps_its_word(pattern: Pattern) -> None:
    """The example is found by it, the counter-example by none."""
    assert pattern.id in SCREENER.screen(pattern.example, pattern.scope).ids
    assert SCREENER.screen(pattern.counter_example).is_clean


def test_ids_are_unique() -> None:
    """An id names one pattern."""
    assert len({pattern.id for pattern in PATTERNS}) == len(PATTERNS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("red tea", True),
        ("red hot tea", True),
        ("red and very hot tea", False),
        ("red. tea", False),
        ("tea red", False),
        ("reddish tea", False),
        ("crimson teas", True),
    ],
)
def test_sequence_is_words_with_gaps(text: str, found: bool) -> None:
    """In their order, within the gap, within a sentence; a stem takes any ending."""
    screener = Screener(compiled(catalogue("@colour ~1 tea*", colour="red crimson")))

    assert screener.screen(text).is_clean is not found


@pytest.mark.parametrize(
    ("match", "complaint"),
    [("@none tea", "@none"), (f"red ~{GAP_MAX + 1} tea", "gap"), ("r* tea", "stem"), ("red| tea", "stem")],
)
def test_bad_pattern_is_refused(match: str, complaint: str) -> None:
    """What cannot be looked for is said when patterns are read."""
    with pytest.raises(ValueError, match=complaint):
        compiled(catalogue(match))


class Counted(list[int]):
    """Places that count how often they are looked at."""

    looks = 0

    def __iter__(self) -> Any:
        """Each look counts."""
        for place in super().__iter__():
            type(self).looks += 1
            yield place


@given(st.lists(st.lists(st.integers(0, 300), unique=True, max_size=80).map(sorted), min_size=1, max_size=5))
def test_search_is_linear(levels: list[list[int]]) -> None:
    """Each place is looked at once, whatever the words are; what is found is what trying all would find."""
    words = Words("", {1 << number: Counted(at) for number, at in enumerate(levels) if at}, {})
    steps = tuple(Step(3, 1 << number) for number in range(len(levels)))
    sequence = Sequence(steps, (1 << len(levels)) - 1)
    Counted.looks = 0

    found = {last for _, last in occurrences(sequence, words, 0)}

    assert Counted.looks <= sum(map(len, levels))
    reached = set(levels[0])
    for level in levels[1:]:
        reached = {place for place in level if any(0 < place - one <= 4 for one in reached)}
    assert found == (reached if all(levels) else set())

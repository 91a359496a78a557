"""The piece of a text that shows why it was found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from services.results.journal.snippets import CHARS_MAX, CUT, excerpt, snippet

FILLER = "nothing to see here, move on. " * 40


def sought(word: str) -> set[str]:
    """What of a query is in a word."""
    return {"comet", "sea"} & {word.strip(".,")}


def test_a_short_text_is_shown_whole() -> None:
    """Unchanged."""
    assert snippet("a comet", sought) == "a comet"


def test_the_most_together_is_shown() -> None:
    """Where two of the words stand, rather than where the first one does."""
    text = f"A comet. {FILLER}The comet fell into the sea. {FILLER}"

    shown = snippet(text, sought)
    assert "comet fell into the sea" in shown
    assert (shown[0], shown[-1]) == (CUT, CUT)


def test_the_end_and_the_beginning() -> None:
    """Nothing is cut where nothing comes before, or after."""
    assert snippet(f"{FILLER}At last a comet.", sought).endswith("At last a comet.")
    assert snippet(FILLER, sought) == excerpt(FILLER)
    assert not excerpt(FILLER).startswith(CUT)


@given(some.text(alphabet="ab ☃", max_size=900), some.integers(0, 1_000))
def test_a_piece_is_bounded_and_of_the_text(text: str, start: int) -> None:
    """At most so long, and what is between the cuts stands in the text."""
    for piece in (excerpt(text, start), snippet(text, lambda word: {"a"} & set(word))):
        assert len(piece) <= CHARS_MAX
        assert piece.removeprefix(CUT).removesuffix(CUT) in text

"""Tokens are counted as cl100k_base does, and cut where it does not hurt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.language.tokens import TokenCounter

COUNTER = TokenCounter()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 9)],
)
def test_counts_are_those_of_cl100k_base(text: str, tokens: int) -> None:
    """The counts that OpenAI's cookbook gives for cl100k_base."""
    assert COUNTER.count(text) == tokens


def test_special_tokens_are_plain_text() -> None:
    """The name of a special token in a text neither fails nor counts as one token."""
    assert COUNTER.count("<|endoftext|>") > 1
    assert COUNTER.cut("<|endoftext|> and more words here", 3) in "<|endoftext|>"


def test_a_text_that_fits_is_unchanged() -> None:
    """White space at the end included."""
    assert COUNTER.cut("two words \n", 50) == "two words \n"


def test_a_cut_ends_after_a_whole_word() -> None:
    """A word that is split into many tokens is kept whole or left out."""
    text = "the antidisestablishmentarianism of incomprehensibilities"

    cuts = {COUNTER.cut(text, tokens) for tokens in range(1, COUNTER.count(text))}

    assert cuts == {"the", "the antidisestablishmentarianism", "the antidisestablishmentarianism of"}


def test_a_cut_never_parts_an_emoji() -> None:
    """A family joined by zero-width joiners is kept whole or left out."""
    family = "👨\u200d👩\u200d👧\u200d👦"

    for tokens in range(1, 40):
        assert COUNTER.cut(f"{family} {family} {family}", tokens).replace(family, "").strip() == ""


@given(st.text(max_size=400), st.integers(0, 60))
def test_a_cut_is_a_start_that_fits(text: str, tokens: int) -> None:
    """Whatever the text: never more tokens than asked for, never anything that was not at its start."""
    cut = COUNTER.cut(text, tokens)

    assert COUNTER.count(cut) <= tokens
    assert text.startswith(cut)


@pytest.mark.parametrize("text", ["a" * 50_000, " " * 50_000, "中" * 50_000, "\u0301" * 50_000])
def test_monotonous_texts_end(text: str) -> None:
    """A text of one character is counted and cut like any other."""
    assert COUNTER.count(COUNTER.cut(text, 100)) <= 100

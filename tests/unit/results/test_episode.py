"""The words by which an episode is found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from libs.language.lexemes import QUERY_TERMS_MAX, Lexer
from services.results.runs.episode import SMALL, indexed, looked_for

LEXER = Lexer()
WORDS = (
    "deploy", "the", "don't", "*", "#123", "src/main.py", "a@b.c", "50%", "wrong-book", "café", "错题本",
    "C++", "—", "ὀδύσσεια", "läuft", "naïve", "v2.3.1", "it's", "1,024", "می‌روم", "🦊", "I", "İstanbul",
    "snake_case", "AND",
)  # fmt: skip


@given(some.lists(some.sampled_from(WORDS) | some.text(min_size=1, max_size=12), min_size=1, max_size=12))
def test_each_word_of_a_text_finds_it(words: list[str]) -> None:
    """Whatever stands around it."""
    text = " ".join(words)
    kept = indexed(LEXER, text)

    for word in text.split():
        assert kept.keys() & looked_for(LEXER, word), word


@given(some.text())
def test_every_query_has_few_terms(query: str) -> None:
    """Never too many, none twice."""
    terms = looked_for(LEXER, query)

    assert len(terms) == len(set(terms)) <= QUERY_TERMS_MAX


def test_small_words_count_only_alone() -> None:
    """A query with other words does not look for them, so that not everything is found."""
    assert looked_for(LEXER, "the") == [SMALL + "the"]
    assert not [term for term in looked_for(LEXER, "the deployment") if term.startswith(SMALL)]

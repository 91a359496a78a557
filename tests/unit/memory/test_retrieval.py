"""What a query looks for."""

from __future__ import annotations

import pytest

from libs.language.lexemes import Lexer
from services.memory.search.retrieval import asked, pointing

KNOWN = {
    "caroline": {b"c"},
    "ann lee": {b"a"},
    "deploy": {b"d"},
    "王伟": {b"w"},
    "c++": {b"p"},
}


@pytest.mark.parametrize(
    ("query", "meaning", "about"),
    [
        ("What did Caroline paint?", "What did paint?", {b"c"}),
        ("What is Caroline's address?", "What is address?", {b"c"}),
        ("where does ann  lee live", "where does live", {b"a"}),
        ("Caroline and Ann Lee met", "and met", {b"c", b"a"}),
        ("Carolines are birds", "Carolines are birds", set[bytes]()),
        ("how to deploy", "how to deploy", {b"d"}),
        ("王伟住在哪里", "住在哪里", {b"w"}),
        ("nobody is named here", "nobody is named here", set[bytes]()),
        ("Caroline?", "Caroline?", {b"c"}),
        (".*(+?[ Caroline \\b x", ".*(+?[ \\b x", {b"c"}),
    ],
)
def test_names_are_taken_out(query: str, meaning: str, about: set[bytes]) -> None:
    """Names of people leave what is searched by meaning, unless nothing else is left."""
    taken = asked(query, KNOWN)

    assert about == taken.about
    assert meaning == taken.meaning


def test_without_known_names_a_query_stays() -> None:
    """A profile that knows nobody searches for just what was asked."""
    assert asked("Does  Ann Lee sing?", {}).meaning == "Does  Ann Lee sing?"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Who is on call for Cygnus?", ["cygnus"]),
        ("What is wrong with the sensor BX-450?", ["bx-450"]),
        ("Where is the API documented?", ["api"]),
        ("which port does checkout use", []),
        ("", []),
    ],
)
def test_words_that_point(query: str, words: list[str]) -> None:
    """Numbers and words written like names point at one thing; the first word of a query does not."""
    lexer = Lexer()
    terms = lexer.query_terms(query)
    pointed = {
        term for term, points in zip(terms, pointing(query, terms, lexer.query_terms), strict=True) if points
    }

    assert set(lexer.query_terms(" ".join(words))) & set(terms) == pointed

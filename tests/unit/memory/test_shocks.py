"""Which shocks come first, and what they leave to the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from services.memory.memories.rings import Ring
from services.memory.search.ranking import Candidate, Ranked, Scope
from services.memory.search.shocks import SHOCK_COSINE_MIN, SHOCKS_MAX, shocks_first

SCOPE = Scope(usual_cosine=0.5, weights=[1.0, 1.0, 1.0], degraded=False)


def ranked(
    number: int, score: float, ring: Ring = Ring.FRESH, cosine: float | None = 0.9, terms: int = 0
) -> Ranked:
    """A candidate with a score."""
    candidate = Candidate(
        id=UUID(int=number),
        session_id=UUID(int=0),
        position=number,
        ring=ring,
        occurred_at=datetime(2030, 1, 1, tzinfo=UTC),
        length=5,
        actor=None,
        asks=False,
        reinforcement_count=0,
        exact=False,
        called=False,
        cosine=cosine,
        bm25=0.0,
        terms=terms,
    )
    return Ranked(candidate, score)


def test_a_relevant_shock_stands_before_better_ones() -> None:
    """It takes no place of theirs, and is marked."""
    others = [ranked(number, 0.9 - number / 100) for number in range(5)]
    shock = ranked(9, 0.01, Ring.SHOCK, SHOCK_COSINE_MIN)

    assert shocks_first([*others, shock], SCOPE, 2) == [replace(shock, ahead=True), *others[:2]]


def test_a_shock_that_is_not_relevant_is_one_of_many() -> None:
    """It has to earn its place as they do."""
    others = [ranked(number, 0.9) for number in range(3)]
    shock = ranked(9, 0.01, Ring.SHOCK, SHOCK_COSINE_MIN - 0.01)

    assert shocks_first([*others, shock], SCOPE, 3) == others
    assert shocks_first([*others, shock], SCOPE, 4) == [*others, shock]


def test_a_shock_without_a_vector_is_known_by_its_words() -> None:
    """Half of the query's words make it relevant."""
    one_word, two_words = (ranked(terms, 0.1, Ring.SHOCK, None, terms) for terms in (0b001, 0b011))

    assert shocks_first([one_word, two_words], SCOPE, 1) == [replace(two_words, ahead=True), one_word]


def test_there_are_never_too_many() -> None:
    """What is above the bound counts against the limit, in its place."""
    shocks = [ranked(number, 0.9 - number / 100, Ring.SHOCK) for number in range(SHOCKS_MAX + 2)]

    found = shocks_first(shocks, SCOPE, 1)

    assert [one.id for one in found] == [one.id for one in shocks[: SHOCKS_MAX + 1]]
    assert [one.ahead for one in found] == [True] * SHOCKS_MAX + [False]

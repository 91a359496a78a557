"""What clearly answers a query."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from services.memory.search.precision import clear, current
from services.memory.search.ranking import Candidate, Ranked, Scope
from tests.unit.memory.test_ranking import MIA, NOW, PLAIN, TOM

SCOPE = Scope(usual_cosine=0.1, weights=[4.0, 2.0, 6.0], degraded=False)
NO_POINTERS = [False, False, False]
ANSWER = replace(PLAIN, cosine=0.7, bm25=10.0, terms=0b111)
NEWER = replace(ANSWER, id=UUID(int=2), position=9, occurred_at=ANSWER.occurred_at + timedelta(days=30))
CLOSE = {frozenset((ANSWER.id, NEWER.id)): 0.9}


def ranked(*candidates: Candidate) -> list[Ranked]:
    """Candidates as a search ranked them."""
    return [Ranked(one, 0.5) for one in candidates]


def ids(answers: list[Ranked]) -> list[int]:
    """The ids of answers."""
    return [one.id.int for one in answers]


@pytest.mark.parametrize(
    ("changes", "answers"),
    [
        ({}, True),
        ({"cosine": 0.3, "terms": 0b010}, False),
        ({"cosine": 0.5, "terms": 0b111}, True),
        ({"cosine": 0.8, "terms": 0}, True),
        ({"cosine": 0.3, "terms": 0, "called": True}, True),
        ({"cosine": None, "terms": 0b111}, True),
        ({"cosine": None, "terms": 0b110}, False),
    ],
)
def test_meaning_and_words_make_an_answer(changes: dict[str, float | None], answers: bool) -> None:
    """Closeness in meaning and shared words together decide; an alias decides alone."""
    assert answers == bool(clear(ranked(replace(ANSWER, **changes)), SCOPE, NO_POINTERS))


def test_an_answer_is_about_what_the_query_points_at() -> None:
    """However close it is, a memory without the name or number that was asked for is no answer."""
    other_thing = replace(ANSWER, cosine=0.9, terms=0b011)

    assert not clear(ranked(other_thing), SCOPE, [False, False, True])
    assert clear(ranked(ANSWER), SCOPE, [False, False, True])


def test_what_stands_far_behind_the_best_is_left_out() -> None:
    """Beside a much better answer a fair one is noise."""
    fair = replace(ANSWER, id=UUID(int=2), position=9, cosine=0.4, bm25=8.0)

    assert ids(clear(ranked(replace(ANSWER, cosine=0.5), fair), SCOPE, NO_POINTERS)) == [1, 2]
    assert ids(clear(ranked(replace(ANSWER, cosine=0.95), fair), SCOPE, NO_POINTERS)) == [1]


def test_a_newer_telling_replaces_the_older() -> None:
    """Of one fact that was told twice, the later telling stays."""
    assert ids(current(ranked(ANSWER, NEWER), SCOPE, CLOSE)) == [2]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({}, {"occurred_at": ANSWER.occurred_at + timedelta(hours=1)}),
        ({"actor": MIA}, {"actor": TOM}),
        ({}, {"terms": 0b001}),
        ({"occurred_at": NOW}, {"occurred_at": NOW}),
    ],
)
def test_what_is_not_the_same_fact_stays(older: dict[str, object], newer: dict[str, object]) -> None:
    """Told at about the same time, by another person, or without what was asked for: both stay."""
    both = ranked(replace(ANSWER, **older), replace(NEWER, **newer))  # pyright: ignore[reportArgumentType]

    assert ids(current(both, SCOPE, CLOSE)) == [1, 2]


def test_only_what_is_close_can_be_one_fact() -> None:
    """Answers that are not close to one another stand beside each other."""
    assert ids(current(ranked(ANSWER, NEWER), SCOPE, {})) == [1, 2]

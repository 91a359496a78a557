"""``strict``: what clearly answers a query, perhaps nothing.

The limits were measured with `bench precision` on one half of its questions; the other half tests them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from services.memory.search.ranking import Candidate, Ranked, Scope, coverage, relevance

WORDS = 0.4
"""What the share of the query's words that a memory has counts beside the cosine."""
CLEAR_MIN = 0.75
"""Cosine and words together, from which on a memory answers."""
UNKNOWN_COSINE = 0.5
"""What a text that has all words of the query and no vector yet is taken for."""
POINTING_MIN = 0.5
"""Of those words of a query that point at one thing, the share by weight that an answer has."""
BEHIND_MAX = 0.25
"""How far an answer may stand behind the best one."""

SAME_FACT_COSINE = 0.7
"""Two answers that are so close may be one fact, told twice."""
SAME_FACT_WORDS = 0.8
"""Of the words of the older one that the query asked for, the share that the newer has if it replaces it."""
SAME_FACT_APART = timedelta(days=1)
"""What is told closer together than this stands beside one another."""

Kinship = Mapping[frozenset[UUID], float]
"""How close two memories are in meaning. Pairs that are missing are not close."""


def clear(ranked: Sequence[Ranked], scope: Scope, pointing: Sequence[bool]) -> list[Ranked]:
    """Those that clearly answer. ``pointing`` tells which terms of the query point at one thing."""
    weights = [weight if points else 0.0 for weight, points in zip(scope.weights, pointing, strict=True)]
    answers = [one for one in ranked if _called(one) or _answers(one.candidate, scope, weights)]
    best = max((relevance(one.candidate, scope) for one in answers), default=0.0)
    return [one for one in answers if _called(one) or relevance(one.candidate, scope) >= best - BEHIND_MAX]


def current(answers: Sequence[Ranked], scope: Scope, kinship: Kinship) -> list[Ranked]:
    """Answers without those that a newer one of them replaces."""
    return [one for one in answers if not any(_replaces(other, one, scope, kinship) for other in answers)]


def _called(one: Ranked) -> bool:
    return one.candidate.exact or one.candidate.called


def _answers(one: Candidate, scope: Scope, pointing: Sequence[float]) -> bool:
    if any(pointing) and coverage(one.terms, pointing) < POINTING_MIN:
        return False
    words = coverage(one.terms, scope.weights)
    cosine = UNKNOWN_COSINE * words if one.cosine is None else one.cosine
    return cosine + WORDS * words >= CLEAR_MIN


def _replaces(newer: Ranked, older: Ranked, scope: Scope, kinship: Kinship) -> bool:
    """Whether one tells the same fact later, by the same person or likewise by nobody."""
    new, old = newer.candidate, older.candidate
    return (
        new.actor == old.actor
        and new.occurred_at - old.occurred_at >= SAME_FACT_APART
        and kinship.get(frozenset((new.id, old.id)), 0.0) >= SAME_FACT_COSINE
        and coverage(new.terms, scope.weights) >= SAME_FACT_WORDS * coverage(old.terms, scope.weights)
    )

"""Search: how well each candidate answers a query.

The features come from the query ``search``; here they become one number. The constants
were measured with `bench locomo`, and hold for short turns and long messages alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.memory.memories.rings import Ring

CANDIDATES = 50
"""How many candidates each arm brings, at least as many as hits are wanted."""

LEXICAL = 0.16
"""What BM25 over the root of the query's weight counts beside the cosine.

The sum over a random text grows with that root, so that long queries do not drown the cosine.
"""
ACTOR = 0.11
"""For what was said by whom the query names; where it names nobody, for what the user said."""
QUESTION = 0.055
"""Against a turn that only asks: the next one answers."""
ANSWER = 0.3
"""Of its own relevance, what a question gives to the turn after it."""
NEIGHBORS = {1: 0.6, 2: 0.3}
"""Of their own relevance, what the turns at this distance give on average."""
TURN_TERMS = 25
"""Up to so many terms a text is a turn of a conversation, understood only with the turns around it."""
TURN_TERMS_MAX = 2 * TURN_TERMS
"""From so many on it speaks for itself. Between the two it fades."""

KEPT_BONUS = 0.01
"""For a memory that has left FRESH."""
REINFORCED_BONUS = 0.005
"""For each doubling of how often it was reinforced, up to ``DOUBLINGS_MAX``."""
DOUBLINGS_MAX = 4
RECENT_BONUS = 0.01
"""For a memory of this moment, half of it after ``RECENT_DAYS``. These three only decide near ties."""
RECENT_DAYS = 30.0

SUGGESTED_COSINE = 0.4
"""What a text that has all words of the query and no vector yet is taken to stand above the usual cosine."""

SCORE_MIDDLE = 0.6
"""The relevance that scores one half of ``SCORE_MAX``."""
SCORE_WIDTH = 0.2
SCORE_MAX = 0.94
"""What is neither exact nor called by an alias stays below."""
EXACT_MIN = 0.97

USERS = ("user", "human")
"""What the one is called whom an assistant serves. Their own words outweigh what they were told."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may answer, with its features."""

    id: UUID
    session_id: UUID
    position: int
    ring: Ring
    occurred_at: datetime
    length: int
    """Its terms."""
    actor: bytes | None
    """Who said it, blind."""
    asks: bool
    """Whether it asks something."""
    reinforcement_count: int
    exact: bool
    """Whether it says just what the query says."""
    called: bool
    """Whether a phrase of the query is one of its aliases."""
    cosine: float | None
    """``None`` while it cannot be compared."""
    bm25: float
    terms: int
    """Which terms of the query it has: a bit for each, the first lowest."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the candidates were drawn from."""

    usual_cosine: float
    """The mean over all that was searched, and over ten unrelated texts, which steady it where little was."""
    weights: Sequence[float]
    """What each term of the query says: the rarer in the profile, the more."""
    degraded: bool
    """Whether some could not be compared by meaning."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and how well it answers, from 0 to 1."""

    candidate: Candidate
    score: float
    ahead: bool = False
    """Whether it comes first whatever else does, in addition to the limit."""

    @property
    def id(self) -> UUID:
        """The memory's id."""
        return self.candidate.id


@dataclass(frozen=True, slots=True)
class _Turn:
    """A candidate as the turns around it see it."""

    turn: float
    """How much it is a turn of a conversation, from 0 to 1."""
    relevance: float
    asks: bool

    @property
    def lends(self) -> float:
        """What the turns around it may take a share of."""
        return self.turn * self.relevance


def rank(
    candidates: Sequence[Candidate], scope: Scope, favoured: frozenset[bytes], now: datetime
) -> list[Ranked]:
    """Candidates, the best first; equal ones by time, the newest first, then by id.

    ``favoured`` are the blind names of those whose words count more.
    """
    turns = {
        (one.session_id, one.position): _Turn(_turn(one), relevance(one, scope), one.asks)
        for one in candidates
    }
    ranked: list[Ranked] = []
    for one in candidates:
        turn = turns[one.session_id, one.position]
        around = turn.turn * _around(one, turns) if turn.turn else 0.0
        ranked.append(Ranked(one, _score(one, turn.relevance + around + _leaning(one, favoured, now))))
    return sorted(ranked, key=lambda one: (-one.score, -one.candidate.occurred_at.timestamp(), one.id.bytes))


def relevance(one: Candidate, scope: Scope) -> float:
    """How far a candidate stands out from what was searched, by its own meaning and words."""
    whole = sum(scope.weights)
    words = LEXICAL * one.bm25 / math.sqrt(whole) if whole > 0 else 0.0
    if one.cosine is None:
        return SUGGESTED_COSINE * coverage(one.terms, scope.weights) + words
    return one.cosine - scope.usual_cosine + words


def coverage(terms: int, weights: Sequence[float]) -> float:
    """How much of a query's words are there, by weight, from 0 to 1. Bits as in ``Candidate.terms``."""
    whole = sum(weights)
    return sum(weight for at, weight in enumerate(weights) if terms >> at & 1) / whole if whole > 0 else 0.0


def _around(one: Candidate, turns: Mapping[tuple[UUID, int], _Turn]) -> float:
    """What the turns around a turn say for it: a conversation is about the same thing for a while."""
    total = -QUESTION if one.asks else 0.0
    for distance, weight in NEIGHBORS.items():
        sides = [turns.get((one.session_id, one.position + step)) for step in (-distance, distance)]
        lent = [side.lends for side in sides if side is not None]
        if lent:
            total += weight * sum(lent) / len(lent)
    before = turns.get((one.session_id, one.position - 1))
    if before is not None and before.asks:
        total += ANSWER * max(0.0, before.lends)
    return total


def _turn(one: Candidate) -> float:
    """How much a memory is a turn of a conversation: said by someone, and short."""
    if one.actor is None:
        return 0.0
    return min(1.0, max(0.0, (TURN_TERMS_MAX - one.length) / (TURN_TERMS_MAX - TURN_TERMS)))


def _leaning(one: Candidate, favoured: frozenset[bytes], now: datetime) -> float:
    """What speaks for a candidate whatever it says."""
    days = max(0.0, (now - one.occurred_at).total_seconds() / 86_400)
    doublings = min(DOUBLINGS_MAX, math.log2(1 + one.reinforcement_count))
    return (
        ACTOR * (one.actor in favoured)
        + KEPT_BONUS * (one.ring is not Ring.FRESH)
        + REINFORCED_BONUS * doublings
        + RECENT_BONUS * 0.5 ** (days / RECENT_DAYS)
    )


def _score(one: Candidate, relevance: float) -> float:
    """Relevance between 0 and 1: a fixed curve, so that a score means the same in every search."""
    score = 1 / (1 + math.exp(min(60.0, (SCORE_MIDDLE - relevance) / SCORE_WIDTH)))
    if one.exact or one.called:
        return EXACT_MIN + (1 - EXACT_MIN) * score
    return SCORE_MAX * score

"""Shocks that are relevant come first, in addition to what was asked for: they are never drowned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.memory.memories.rings import Ring
from services.memory.search.ranking import Candidate, Ranked, Scope, coverage

SHOCKS_MAX = 10
"""As many as the query `search` brings by their meaning alone, and by their words."""
SHOCK_COSINE_MIN = 0.25
"""From here on a shock is relevant. Of 144 pairs of queries and shocks with the local model, what had nothing
to do with one another was below 0.19. No score: that tells how far one stands out, and what is alike would
drown it."""
SHOCK_WORDS_MIN = 0.5
"""The share by weight of the query's words that makes a shock relevant which has no vector yet."""


def shocks_first(ranked: Sequence[Ranked], scope: Scope, limit: int) -> list[Ranked]:
    """The relevant shocks, the best first, then as many others as there may be. Given the best first."""
    shocks = [one for one in ranked if _relevant(one.candidate, scope)][:SHOCKS_MAX]
    ahead = {one.id for one in shocks}
    others = [one for one in ranked if one.id not in ahead]
    return [*(replace(one, ahead=True) for one in shocks), *others[:limit]]


def _relevant(one: Candidate, scope: Scope) -> bool:
    if one.ring is not Ring.SHOCK:
        return False
    if one.exact or one.called:
        return True
    if one.cosine is None:
        return coverage(one.terms, scope.weights) >= SHOCK_WORDS_MIN
    return one.cosine >= SHOCK_COSINE_MIN

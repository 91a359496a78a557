"""What is asked of the journal, and what is found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from services.results.runs.episode import Episode
from services.results.runs.run import Kind

QUERY_CHARS_MAX = 10_000
"""Of a longer query this much counts, so that whatever is asked is answered."""
LIMIT = 10
LIMIT_MAX = 50
KINDS = (Kind.MISSION, Kind.SCHEDULED)
"""What is found unless other kinds are asked for."""


class Order(IntEnum):
    """In which order episodes are found."""

    RELEVANCE = 1
    """Missions before all others, then by how well they answer."""
    NEWEST = 2
    OLDEST = 3


@dataclass(frozen=True, slots=True)
class Look:
    """A search of the journal."""

    query: str
    limit: int = LIMIT
    kinds: Collection[Kind] = KINDS
    order: Order = Order.RELEVANCE


@dataclass(frozen=True, slots=True)
class Hit:
    """An episode that answers, and how well: above 0, within one search."""

    episode: Episode
    score: float
    snippet: str

"""What a search asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from libs.language.names import clean_text
from services.memory.memories.observations import TAGS_MAX, names, optional_name
from services.memory.memories.rings import Ring

QUERY_CHARS_MAX = 4_000
LIMIT = 10
LIMIT_MAX = 200


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories a search looks at: all that nothing here leaves out."""

    rings: tuple[Ring, ...] = ()
    session_id: UUID | None = None
    agent: str = ""
    actor: str = ""
    tags: tuple[str, ...] = ()
    """At least one of them."""
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A search, checked."""

    text: str
    limit: int = LIMIT
    filters: Filters = Filters()
    min_score: float = 0.0
    strict: bool = False
    """Only what clearly answers."""
    token_budget: int | None = None


def clean_query(query: Query) -> Query:
    """Check the text and the names. Raises ``Invalid`` naming the field, ``TooLarge`` for the text."""
    asked = query.filters
    return replace(
        query,
        text=clean_text("query", query.text, QUERY_CHARS_MAX),
        limit=min(query.limit, LIMIT_MAX),
        filters=replace(
            asked,
            agent=optional_name("agent_id", asked.agent),
            actor=optional_name("actor", asked.actor),
            tags=names("tags", asked.tags, TAGS_MAX),
            tags_all=names("tags_all", asked.tags_all, TAGS_MAX),
            tags_none=names("tags_none", asked.tags_none, TAGS_MAX),
        ),
    )

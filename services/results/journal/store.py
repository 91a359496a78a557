"""The journal in Postgres. Each call is one round trip and one commit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from libs.language.lexemes import Lexer
from libs.language.lexing import Lexing
from services.results.journal.look import QUERY_CHARS_MAX, Hit, Look
from services.results.journal.snippets import snippet
from services.results.runs.episode import Episode, looked_for
from services.results.runs.rows import episode_of
from services.results.runs.run import RunNotFound

PACKAGE = "services.results.journal"


class JournalStore:
    """Finds and reads episodes, by profile."""

    def __init__(self, database: Database, keyring: Keyring, lexing: Lexing) -> None:
        self._database = database
        self._keyring = keyring
        self._lexing = lexing
        self._queries = sql.load(PACKAGE)

    async def search(self, profile: UUID, look: Look) -> list[Hit]:
        """Episodes that have something of the query, the best first."""
        keys = await self._keyring.of(profile)
        query = look.query[:QUERY_CHARS_MAX]
        terms = await self._lexing.run(len(query), lambda lexer: looked_for(lexer, query))
        blind = [keys.term(term) for term in terms]
        rows = await self._database.fetch(
            self._queries.search, profile, blind, list(look.kinds), look.order, look.limit
        )
        found = [(episode_of(keys, row), row["score"]) for row in rows]
        chars = sum(len(episode.text) for episode, _ in found)
        return await self._lexing.run(chars, lambda lexer: _shown(lexer, found, frozenset(terms)))

    async def read(self, profile: UUID, run_id: UUID) -> Episode:
        """One episode. Raises ``RunNotFound``."""
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(self._queries.episode, profile, run_id)
        if row is None:
            raise RunNotFound(
                "The journal has no run with this id. A run is in it from the moment it is finished."
            )
        return episode_of(keys, row)


def _shown(lexer: Lexer, found: Sequence[tuple[Episode, float]], terms: frozenset[str]) -> list[Hit]:
    """Hits, each with the piece of its text that has most of the terms."""

    @cache
    def sought(word: str) -> frozenset[str]:
        return terms.intersection(looked_for(lexer, word))

    return [Hit(episode, score, snippet(episode.text, sought)) for episode, score in found]

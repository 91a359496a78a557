"""Search: whom a query names, what may answer it, and what of that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from libs.clock import Clock
from libs.errors import Unavailable
from libs.language.embeddings import RoutedEmbedder, Vector
from libs.language.lexemes import Lexer, phrases
from libs.language.tokens import TokenCounter
from services.memory.memories.pending_store import PendingStore
from services.memory.search.layers import Found, Hit, within
from services.memory.search.precision import clear, current
from services.memory.search.query import Query
from services.memory.search.ranking import CANDIDATES, USERS, Candidate, Ranked, Scope, rank
from services.memory.search.retrieval import asked, pointing
from services.memory.search.shocks import shocks_first
from services.memory.search.store import Look, SearchStore


class Finder:
    """Finds memories by meaning and by words."""

    def __init__(
        self,
        store: SearchStore,
        pending: PendingStore,
        embedder: RoutedEmbedder,
        counter: TokenCounter,
        clock: Clock,
    ) -> None:
        self._store = store
        self._pending = pending
        self._embedder = embedder
        self._counter = counter
        self._clock = clock
        self._lexer = Lexer()

    async def find(self, profile: UUID, query: Query, at: datetime | None = None) -> Found:
        """The best answers to a query, with the text that layer 1 shows of them, as seen at a time: now.

        Without an embedder they are found by their words, and the answer says so.
        """
        said = phrases(query.text)
        called = await self._store.called(profile, dict.fromkeys((*said, *USERS)))
        taken = asked(query.text, {name: called[name] for name in said if name in called})
        users = frozenset(actor for name in USERS for actor in called.get(name, ()))
        terms = self._lexer.query_terms(query.text)
        points = pointing(query.text, terms, self._lexer.query_terms)
        look = Look(
            text=query.text,
            terms=terms,
            phrases=said,
            vector=await self._vector(taken.meaning),
            model=self._embedder.model,
            filters=query.filters,
            arm_limit=max(CANDIDATES, query.limit),
            limit=query.limit,
        )

        def choose(candidates: Sequence[Candidate], scope: Scope) -> list[Ranked]:
            ranked = rank(candidates, scope, taken.about or users, at or self._clock())
            if query.strict:
                ranked = clear(ranked, scope, points)
            enough = [one for one in ranked if one.score >= query.min_score]
            return shocks_first(enough, scope, query.limit)

        found = await self._store.search(profile, look, choose, current if query.strict else None)
        if found.degraded and look.vector is not None:
            # Some may have been embedded by a model that is no longer preferred.
            await self._pending.await_model(profile, look.model, self._clock())
        return Found(self._shown(found, query), found.degraded)

    async def _vector(self, text: str) -> Vector | None:
        try:
            [vector] = await self._embedder.embed_as(self._embedder.model, [text])
        except Unavailable:
            return None
        return vector

    def _shown(self, found: Found, query: Query) -> list[Hit]:
        return within(found.hits, query.token_budget, self._counter.count, self._counter.cut)

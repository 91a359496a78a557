"""Observe: check, take secrets out, understand, embed, keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID, uuid4

from libs.data.keyring import ProfileKeys
from libs.errors import Unavailable
from libs.language.compression import shorten
from libs.language.embeddings import RoutedEmbedder, Vector
from libs.language.lexemes import Lexer
from libs.language.lexing import Lexing
from libs.language.tokens import TokenCounter
from services.memory.memories.drafts import Batch, Draft
from services.memory.memories.memory import Kept
from services.memory.memories.observations import Observation, Raw, clean
from services.memory.memories.store import Store


class Observer:
    """Turns what callers saw into memories."""

    def __init__(
        self,
        store: Store,
        embedder: RoutedEmbedder,
        counter: TokenCounter,
        new_id: Callable[[], UUID] = uuid4,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._counter = counter
        self._new_id = new_id
        self._lexing = Lexing()

    async def observe(
        self,
        workspace: UUID,
        profile: UUID,
        session_id: UUID,
        source: int,
        raws: Sequence[tuple[str, Raw]],
        memories_max: int,
        now: datetime,
    ) -> list[Kept]:
        """Keep observations, all or none; each comes with the path that stands before its fields' names.

        Without an embedder they are kept all the same, found by their words, and embedded later.
        """
        batch = await self.understand(profile, raws)
        return await self._store.observe(workspace, profile, session_id, source, batch, memories_max, now)

    async def understand(self, profile: UUID, raws: Sequence[tuple[str, Raw]]) -> Batch:
        """Everything that is made of observations before they are kept."""
        keys = await self._store.keys(profile)
        drafts = await self._drafted(keys, raws)
        vectors, model = await self._embed([draft.observation.content for draft in drafts])
        return Batch(drafts, vectors, model, self._embedder.model)

    async def _drafted(self, keys: ProfileKeys, raws: Sequence[tuple[str, Raw]]) -> list[Draft]:
        def drafts(lexer: Lexer) -> list[Draft]:
            return [self._draft(keys, clean(raw, path), lexer) for path, raw in raws]

        return await self._lexing.run(sum(len(raw.content) for _, raw in raws), drafts)

    def _draft(self, keys: ProfileKeys, observation: Observation, lexer: Lexer) -> Draft:
        counts = Counter(lexer.terms(observation.indexed))
        return Draft(
            id=self._new_id(),
            observation=observation,
            short=shorten(observation.content, self._counter),
            terms={keys.term(term): count for term, count in counts.items()},
        )

    async def _embed(self, texts: Sequence[str]) -> tuple[Sequence[Vector | None], str]:
        """Vectors and their model; none while no embedder answers."""
        try:
            embedding = await self._embedder.embed(texts)
        except Unavailable:
            return [None] * len(texts), self._embedder.model
        return embedding.vectors, embedding.model

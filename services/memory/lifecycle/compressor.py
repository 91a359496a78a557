"""Texts made shorter, sentence by sentence, by what the sentences mean."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from libs.errors import Unavailable
from libs.language.compression import compress, sentences
from libs.language.embeddings import RoutedEmbedder, Vector
from libs.language.tokens import TokenCounter
from services.memory.lifecycle.forms import Shorter


class Compressor:
    """Keeps the sentences worth keeping. Without an embedder, alike sentences are those that share words."""

    def __init__(self, embedder: RoutedEmbedder, counter: TokenCounter) -> None:
        self._embedder = embedder
        self._counter = counter
        # Beside the loop, so that calls do not wait for long texts.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compress")

    def begin(self) -> Shorter:
        """A shorter for one call."""
        return self.shorter

    async def shorter(self, text: str, limits: Sequence[int]) -> list[tuple[str, int]]:
        """The text within each of some numbers of tokens, none longer than the one before.

        Each comes with what it counts. What fits stays as it is, letter by letter.
        """
        tokens = self._counter.count(text)
        if tokens <= min(limits):
            return [(text, tokens)] * len(limits)
        parts = sentences(text) or [text]
        vectors = await self._vectors(parts)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._cut, text, parts, vectors, limits)

    async def _vectors(self, parts: Sequence[str]) -> Sequence[Vector] | None:
        try:
            return (await self._embedder.embed(parts)).vectors
        except Unavailable:
            return None

    def _cut(
        self, text: str, parts: Sequence[str], vectors: Sequence[Vector] | None, limits: Sequence[int]
    ) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        left = text, self._counter.count(text)
        for limit in limits:
            if left[1] > limit:
                short = compress(parts, self._counter, min(limit, left[1]), vectors)
                left = short, self._counter.count(short)
            found.append(left)
        return found

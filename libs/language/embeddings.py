"""Texts become vectors: what an embedder is, and several of them tried in order of availability.

Vectors of two models are never compared, so a vector never travels without its model's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np
import structlog
from numpy.typing import NDArray

from libs.clock import Clock
from libs.errors import Unavailable
from libs.refusal import Refused

Vector = NDArray[np.float32]
"""One dimension long, of length 1, so that a dot product is the cosine."""

AWAY_SECONDS = 30.0
"""How long a provider that failed is left alone, unless it said how long itself."""
AWAY_SECONDS_MAX = 600.0
NORM_MIN = 1e-6
"""A vector shorter than this points nowhere."""

log = structlog.stdlib.get_logger()


class Embedder(Protocol):
    """One model that embeds texts."""

    @property
    def model(self) -> str:
        """The model's name, kept beside every vector."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order. Raises ``Unavailable``, never answers half."""
        ...


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors, and the model that made them."""

    model: str
    dimension: int
    vectors: list[Vector]


class EmbeddingAway(Unavailable):
    """No embedding provider answers at the moment. Please try again."""


class WrongDimension(Unavailable):
    """An embedding provider answers with vectors of another size than configured."""

    def __init__(self, model: str, configured: int, received: int) -> None:
        super().__init__(
            f"The embedding model {model} is configured with dimension {configured} "
            f"but answers with dimension {received}."
        )


def unit(values: NDArray[np.float32], model: str, dimension: int) -> Vector:
    """Check what a model answered and bring it to length 1."""
    if values.shape != (dimension,):
        raise WrongDimension(model, dimension, values.size)
    norm = float(np.linalg.norm(values.astype(np.float64)))
    if not np.isfinite(norm) or norm < NORM_MIN:
        raise EmbeddingAway(f"The embedding model {model} answered with a vector that has no direction.")
    return (values / norm).astype(np.float32)


async def probe(embedder: Embedder) -> None:
    """Embed one text, to learn at start what would otherwise fail at the first memory.

    Raises ``WrongDimension`` with both numbers, or another ``Unavailable`` when nobody answers.
    """
    [vector] = await embedder.embed(["a ring is added every year"])
    if vector.size != embedder.dimension:
        raise WrongDimension(embedder.model, embedder.dimension, vector.size)


class RoutedEmbedder:
    """Several embedders, tried in order. One that failed is left alone for a while."""

    def __init__(self, embedders: Sequence[Embedder], clock: Clock) -> None:
        if not embedders:
            raise ValueError("at least one embedder is needed")
        self._embedders = {embedder.model: embedder for embedder in embedders}
        if len(self._embedders) != len(embedders):
            raise ValueError("two embedders of the same model")
        self._clock = clock
        self._away_until: dict[str, datetime] = {}

    @property
    def models(self) -> dict[str, int]:
        """The models in order of preference, each with its dimension."""
        return {model: embedder.dimension for model, embedder in self._embedders.items()}

    @property
    def model(self) -> str:
        """The preferred model: what stays on another is embedded again when it is back."""
        return next(iter(self._embedders))

    @property
    def dimension(self) -> int:
        """The dimension of the preferred model."""
        return self._embedders[self.model].dimension

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """Embed with the first model that is there. Raises ``EmbeddingAway`` when none is."""
        for model, embedder in self._embedders.items():
            if self._wait(model) > 0:
                continue
            try:
                return Embedding(model, embedder.dimension, await embedder.embed(texts))
            except Unavailable as problem:
                self._leave_alone(model, problem)
        raise EmbeddingAway(retry_after=max(1.0, min(map(self._wait, self._embedders))))

    async def embed_as(self, model: str, texts: Sequence[str]) -> list[Vector]:
        """Embed with this model and no other, as a query must to be compared with what is kept.

        Raises ``EmbeddingAway`` when the model is not configured or not there.
        """
        embedder = self._embedders.get(model)
        if embedder is None:
            raise EmbeddingAway(f"The embedding model {model} is not configured.")
        if (seconds := self._wait(model)) > 0:
            raise EmbeddingAway(retry_after=seconds)
        try:
            return await embedder.embed(texts)
        except Unavailable as problem:
            self._leave_alone(model, problem)
            raise

    async def check(self) -> None:
        """Probe every provider at start. Who is away may come back; a wrong dimension raises ``Refused``."""
        for model, embedder in self._embedders.items():
            try:
                await probe(embedder)
            except WrongDimension as problem:
                raise Refused(problem.message) from problem
            except Unavailable as problem:
                self._leave_alone(model, problem)

    def _wait(self, model: str) -> float:
        """Seconds until a model is tried again; 0 when it may be tried now."""
        until = self._away_until.get(model)
        return 0.0 if until is None else max(0.0, (until - self._clock()).total_seconds())

    def _leave_alone(self, model: str, problem: Unavailable) -> None:
        seconds = min(problem.retry_after or AWAY_SECONDS, AWAY_SECONDS_MAX)
        self._away_until[model] = self._clock() + timedelta(seconds=seconds)
        log.warning("embedder.away", model=model, seconds=seconds, why=problem.message)

"""Embedders that are somebody's service: any OpenAI-compatible endpoint, and Gemini.

What a provider answers is data: its size, shape and numbers are checked before anyone sees them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import httpx2
import numpy as np

from libs.language.embeddings import EmbeddingAway, Vector, WrongDimension, unit
from libs.language.endpoints import Endpoint
from libs.language.tokens import TokenCounter

REQUEST_SECONDS_MAX = 15.0
"""One request, from the first byte sent to the last received."""
ANSWER_BYTES_MAX = 32 * 1024 * 1024
TEXTS_PER_REQUEST = 96
"""Gemini takes 100, OpenAI 2,048; a smaller request fails smaller."""
OPENAI_TOKENS_MAX = 8_191
"""What text-embedding-3 reads of one text; a longer one would be refused."""
GEMINI_TOKENS_MAX = 2_048


class OpenAIEmbedder:
    """Embeds by ``POST {base_url}/embeddings``, as OpenAI and those compatible with it do."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        counter: TokenCounter,
        *,
        base_url: str,
        api_key: str,
        model: str,
        dimension: int,
        ask_dimension: bool = False,
    ) -> None:
        """``ask_dimension`` sends the wanted dimension along, which only some models understand."""
        self.model = model
        self.dimension = dimension
        self._counter = counter
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._endpoint = _endpoint(client, f"{base_url.rstrip('/')}/embeddings", headers, model)
        self._ask_dimension = ask_dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text; of a text that is too long for the model, its beginning's."""
        vectors: list[Vector] = []
        for chunk in _chunks(texts, TEXTS_PER_REQUEST):
            body: dict[str, object] = {
                "model": self.model,
                "input": [_sendable(text, self._counter, OPENAI_TOKENS_MAX) for text in chunk],
                "encoding_format": "float",
            }
            if self._ask_dimension:
                body["dimensions"] = self.dimension
            answer = await self._endpoint.post(body)
            rows = sorted(_rows(answer, "data", self.model), key=_index)
            vectors += _vectors(
                [row.get("embedding") for row in rows], len(chunk), self.model, self.dimension
            )
        return vectors


class GeminiEmbedder:
    """Embeds by Gemini's ``batchEmbedContents``."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        counter: TokenCounter,
        *,
        base_url: str,
        api_key: str,
        model: str,
        dimension: int,
    ) -> None:
        self.model = model
        self.dimension = dimension
        self._counter = counter
        url = f"{base_url.rstrip('/')}/models/{model}:batchEmbedContents"
        self._endpoint = _endpoint(client, url, {"x-goog-api-key": api_key}, model)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text; of a text that is too long for the model, its beginning's."""
        vectors: list[Vector] = []
        for chunk in _chunks(texts, TEXTS_PER_REQUEST):
            body = {"requests": [self._request(text) for text in chunk]}
            answer = await self._endpoint.post(body)
            rows = _rows(answer, "embeddings", self.model)
            vectors += _vectors([row.get("values") for row in rows], len(chunk), self.model, self.dimension)
        return vectors

    def _request(self, text: str) -> dict[str, object]:
        return {
            "model": f"models/{self.model}",
            "content": {"parts": [{"text": _sendable(text, self._counter, GEMINI_TOKENS_MAX)}]},
            "outputDimensionality": self.dimension,
        }


T = TypeVar("T")


def _chunks(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def _sendable(text: str, counter: TokenCounter, tokens_max: int) -> str:
    """A text as a provider takes it: not empty, not too long."""
    return counter.cut(text, tokens_max) if text.strip() else "-"


def _endpoint(client: httpx2.AsyncClient, url: str, headers: Mapping[str, str], model: str) -> Endpoint:
    return Endpoint(client, url, headers, model, EmbeddingAway, REQUEST_SECONDS_MAX, ANSWER_BYTES_MAX)


def _unexpected(model: str) -> EmbeddingAway:
    return EmbeddingAway(f"The provider of {model} answered in an unknown shape.")


def _rows(answer: dict[str, object], name: str, model: str) -> list[dict[str, object]]:
    """The list of objects under a name."""
    rows = answer.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[object]", rows)):
        raise _unexpected(model)
    return cast("list[dict[str, object]]", rows)


def _index(row: dict[str, object]) -> int:
    """Which text a row belongs to; rows without a number stay in the order they came."""
    index = row.get("index")
    return index if isinstance(index, int) else 0


def _vectors(values: Sequence[object], expected: int, model: str, dimension: int) -> list[Vector]:
    """Numbers from outside as unit vectors: as many as asked for, of one size, finite, not zero."""
    if len(values) != expected:
        raise _unexpected(model)
    return [_vector(numbers, model, dimension) for numbers in values]


def _vector(numbers: object, model: str, dimension: int) -> Vector:
    if not isinstance(numbers, list):
        raise _unexpected(model)
    size = len(cast("list[object]", numbers))
    if size != dimension:
        raise WrongDimension(model, dimension, size)
    try:
        # Too large a number becomes infinite here and is refused with the others that are not finite.
        with np.errstate(over="ignore"):
            values = np.asarray(cast(Any, numbers), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise _unexpected(model) from error
    if values.ndim != 1:
        raise _unexpected(model)
    return unit(values, model, dimension)

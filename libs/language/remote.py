"""Embedders that are somebody's service: any OpenAI-compatible endpoint, and Gemini.

What a provider answers is data: its size, shape and numbers are checked before anyone sees them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import httpx2
import numpy as np
import orjson

from libs.language.embeddings import EmbeddingAway, Vector, WrongDimension, unit
from libs.language.tokens import TokenCounter

REQUEST_SECONDS_MAX = 15.0
"""One request, from the first byte sent to the last received."""
CONNECT_SECONDS_MAX = 3.0
CONNECTIONS_MAX = 8
ANSWER_BYTES_MAX = 32 * 1024 * 1024
TEXTS_PER_REQUEST = 96
"""Gemini takes 100, OpenAI 2,048; a smaller request fails smaller."""
OPENAI_TOKENS_MAX = 8_191
"""What text-embedding-3 reads of one text; a longer one would be refused."""
GEMINI_TOKENS_MAX = 2_048
RETRY_AFTER_SECONDS_MAX = 3_600.0


def http_client() -> httpx2.AsyncClient:
    """A client with limits, to be shared by the embedders and closed by whoever built it."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(REQUEST_SECONDS_MAX, connect=CONNECT_SECONDS_MAX),
        limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX),
        follow_redirects=False,
    )


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
        self._client = client
        self._counter = counter
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
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
            answer = await _post(self._client, self._url, self._headers, body, self.model)
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
        self._client = client
        self._counter = counter
        self._url = f"{base_url.rstrip('/')}/models/{model}:batchEmbedContents"
        self._headers = {"x-goog-api-key": api_key}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text; of a text that is too long for the model, its beginning's."""
        vectors: list[Vector] = []
        for chunk in _chunks(texts, TEXTS_PER_REQUEST):
            body = {"requests": [self._request(text) for text in chunk]}
            answer = await _post(self._client, self._url, self._headers, body, self.model)
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


async def _post(
    client: httpx2.AsyncClient, url: str, headers: Mapping[str, str], body: Mapping[str, object], model: str
) -> dict[str, object]:
    """Ask once. Whatever goes wrong is ``EmbeddingAway``: the caller stores now and embeds later."""
    try:
        async with (
            asyncio.timeout(REQUEST_SECONDS_MAX),
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise _refused(response, model)
            answer = orjson.loads(await _read(response, model))
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError) as error:
        raise EmbeddingAway(f"The provider of {model} did not answer ({type(error).__name__}).") from error
    except orjson.JSONDecodeError as error:
        raise EmbeddingAway(f"The provider of {model} did not answer with JSON.") from error
    if not isinstance(answer, dict):
        raise _unexpected(model)
    return cast("dict[str, object]", answer)


async def _read(response: httpx2.Response, model: str) -> bytes:
    """The body of an answer, as long as it stays within its limit."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise EmbeddingAway(f"The provider of {model} answers with more than {ANSWER_BYTES_MAX} bytes.")
    return bytes(body)


def _refused(response: httpx2.Response, model: str) -> EmbeddingAway:
    """What a status other than 200 means; its text is the provider's own and goes nowhere."""
    return EmbeddingAway(
        f"The provider of {model} answered with status {response.status_code}.",
        retry_after=retry_after(response.headers.get("retry-after", "")),
    )


def retry_after(header: str) -> float | None:
    """Seconds of a ``Retry-After`` header; None when there is none, or a date."""
    digits = header.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        return None
    return min(float(digits), RETRY_AFTER_SECONDS_MAX)


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

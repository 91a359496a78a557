"""Embedders that are somebody's service, against a server that answers well and badly."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import numpy as np
import orjson
import pytest

from libs.language.embeddings import EmbeddingAway, WrongDimension, probe
from libs.language.endpoints import retry_after
from libs.language.remote import OPENAI_TOKENS_MAX, TEXTS_PER_REQUEST, GeminiEmbedder, OpenAIEmbedder
from libs.language.tokens import TokenCounter

COUNTER = TokenCounter()
Answer = Callable[[httpx2.Request], httpx2.Response]


def an_openai(answer: Answer, *, dimension: int = 3, ask_dimension: bool = False) -> OpenAIEmbedder:
    """An embedder that talks to ``answer``."""
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return OpenAIEmbedder(
        client,
        COUNTER,
        base_url="https://api.example.org/v1/",
        api_key="made-up",
        model="text-embedding-3-small",
        dimension=dimension,
        ask_dimension=ask_dimension,
    )


def rows(*vectors: list[float]) -> httpx2.Response:
    """An answer in OpenAI's shape, its rows in reverse order."""
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return httpx2.Response(200, json={"object": "list", "data": data[::-1]})


def body(request: httpx2.Request) -> dict[str, list[str]]:
    """What was asked."""
    return orjson.loads(request.content)


async def test_openai_is_asked_as_documented() -> None:
    """Path, key and body; vectors come back of length 1 in the order of the texts."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return rows([3, 0, 4], [0, 2, 0])

    vectors = await an_openai(answer).embed(["one", "two"])

    [request] = asked
    assert str(request.url) == "https://api.example.org/v1/embeddings"
    assert request.headers["authorization"] == "Bearer made-up"
    assert orjson.loads(request.content) == {
        "model": "text-embedding-3-small",
        "input": ["one", "two"],
        "encoding_format": "float",
    }
    assert np.allclose(vectors, [[0.6, 0, 0.8], [0, 1, 0]])


async def test_a_dimension_is_asked_for_only_when_wanted() -> None:
    """Servers of one's own may not know the field."""
    seen: list[dict[str, list[str]]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(body(request))
        return rows([1, 0, 0])

    await an_openai(answer, ask_dimension=True).embed(["one"])
    await an_openai(answer).embed(["one"])

    assert [request.get("dimensions") for request in seen] == [3, None]


async def test_many_and_odd_texts_are_sent_in_pieces_that_are_taken() -> None:
    """Requests have a size, an empty text is no empty input, a long one is cut."""
    inputs: list[list[str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        inputs.append(body(request)["input"])
        return rows(*([[1.0, 0, 0]] * len(inputs[-1])))

    vectors = await an_openai(answer).embed(["", "word " * 10_000] + ["x"] * TEXTS_PER_REQUEST)

    assert len(vectors) == TEXTS_PER_REQUEST + 2
    assert [len(sent) for sent in inputs] == [TEXTS_PER_REQUEST, 2]
    assert inputs[0][0].strip()
    assert COUNTER.count(inputs[0][1]) == OPENAI_TOKENS_MAX


async def test_gemini_is_asked_as_documented() -> None:
    """Path, key and body of batchEmbedContents."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"embeddings": [{"values": [0, 5, 0]}]})

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    gemini = GeminiEmbedder(
        client,
        COUNTER,
        base_url="https://g.example.org/v1beta",
        api_key="made-up",
        model="gemini-embedding-001",
        dimension=3,
    )
    [vector] = await gemini.embed(["one"])

    [request] = asked
    assert str(request.url) == "https://g.example.org/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert request.headers["x-goog-api-key"] == "made-up"
    assert orjson.loads(request.content) == {
        "requests": [
            {
                "model": "models/gemini-embedding-001",
                "content": {"parts": [{"text": "one"}]},
                "outputDimensionality": 3,
            }
        ]
    }
    assert vector.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (429, "7", 7),
        (503, "120", 120),
        (500, "", None),
        (401, "", None),
        (302, "", None),
        (429, "junk", None),
    ],
)
async def test_a_refusal_is_away_with_a_time(status: int, header: str, seconds: float | None) -> None:
    """Whatever the status: the provider is away, for as long as it says; its text is not repeated."""
    response = httpx2.Response(status, headers={"retry-after": header, "location": "/x"}, text="inner secret")

    with pytest.raises(EmbeddingAway) as away:
        await an_openai(lambda _: response).embed(["one"])

    assert away.value.retry_after == seconds
    assert "inner" not in away.value.message
    assert str(status) in away.value.message


@pytest.mark.parametrize(
    "response",
    [
        rows([1, 0, float("1e39")]),
        rows([0, 0, 0]),
        rows([1, 0, 0], [1, 0, 0]),
        httpx2.Response(200, content=b'{"data":[{"index":0,"embedding":[1,NaN,0]}]}'),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": ["1", "x", "0"]}]}),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": [[1], [2], [3]]}]}),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": [{}, None, 0]}]}),
        httpx2.Response(200, json={"data": [{"index": 0, "embedding": None}]}),
        httpx2.Response(200, json={"data": [1]}),
        httpx2.Response(200, json={"data": "x"}),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, content=b" " * (33 * 1024 * 1024)),
    ],
)
async def test_an_answer_is_checked(response: httpx2.Response) -> None:
    """Not finite, zero, too many, not numbers, another shape, not JSON, too large: nothing of it is used."""
    with pytest.raises(EmbeddingAway):
        await an_openai(lambda _: response).embed(["one"])


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ReadTimeout, httpx2.RemoteProtocolError])
async def test_a_server_that_is_not_there_is_away(error: type[httpx2.TransportError]) -> None:
    """Refused, silent or broken off."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        raise error("inner words", request=request)

    with pytest.raises(EmbeddingAway) as away:
        await an_openai(answer).embed(["one"])
    assert "inner" not in away.value.message


async def test_a_wrong_dimension_is_told_with_both_numbers() -> None:
    """At the first probe already."""
    with pytest.raises(WrongDimension, match="configured with dimension 1536 but answers with dimension 3"):
        await probe(an_openai(lambda _: rows([1, 0, 0]), dimension=1536))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("0", 0),
        ("999999", 3600),
        ("", None),
        ("-1", None),
        ("٥", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_is_a_bounded_number(header: str, seconds: float | None) -> None:
    """Seconds, at most an hour; anything else is no answer."""
    assert retry_after(header) == seconds

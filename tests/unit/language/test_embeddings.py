"""Several embedders in order of availability, against servers that come and go."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from libs.language.embeddings import (
    AWAY_SECONDS,
    EmbeddingAway,
    RoutedEmbedder,
)
from libs.language.local import LocalEmbedder
from libs.language.providers import Settings, embedder_from
from libs.language.remote import OpenAIEmbedder
from libs.language.tokens import TokenCounter
from libs.refusal import Refused

COUNTER = TokenCounter()
START = datetime(2026, 1, 1, tzinfo=UTC)


class Room:
    """Two servers and a clock, all of which do as they are told."""

    def __init__(self) -> None:
        self.now = START
        self.status = {"first": 200, "second": 200}
        self.size = {"first": 2, "second": 3}
        self.retry_after = ""
        self.calls: list[str] = []
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer))
        models = [self.embedder("first", 2), self.embedder("second", 3)]
        self.routed = RoutedEmbedder(models, clock=lambda: self.now)

    def embedder(self, model: str, dimension: int) -> OpenAIEmbedder:
        """A real embedder that talks to the server of that name."""
        return OpenAIEmbedder(
            self.client, COUNTER, base_url=f"https://{model}", api_key="", model=model, dimension=dimension
        )

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer as the server that is asked."""
        model = request.url.host
        self.calls.append(model)
        row = {"index": 0, "embedding": [1.0] * self.size[model]}
        headers = {"retry-after": self.retry_after}
        return httpx2.Response(self.status[model], json={"data": [row]}, headers=headers)

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


async def test_the_first_is_used_and_its_model_named() -> None:
    """A vector never comes without the model that made it."""
    embedding = await Room().routed.embed(["one"])

    assert (embedding.model, embedding.dimension, len(embedding.vectors)) == ("first", 2, 1)


async def test_the_next_steps_in() -> None:
    """When the first is away the second answers, under its own name."""
    room = Room()
    room.status["first"] = 503

    embedding = await room.routed.embed(["one"])

    assert (embedding.model, embedding.dimension) == ("second", 3)


async def test_who_failed_is_left_alone_for_a_while() -> None:
    """Not asked again until its time is over, then asked first again."""
    room = Room()
    room.status["first"] = 503
    await room.routed.embed(["one"])
    room.status["first"] = 200

    room.passes(AWAY_SECONDS - 1)
    assert (await room.routed.embed(["one"])).model == "second"
    room.passes(1)
    assert (await room.routed.embed(["one"])).model == "first"
    assert room.calls == ["first", "second", "second", "first"]


async def test_retry_after_is_honoured() -> None:
    """A provider that names a time is left alone for that time."""
    room = Room()
    room.status["first"], room.retry_after = 429, "90"
    await room.routed.embed(["one"])
    room.status["first"] = 200

    room.passes(89)
    assert (await room.routed.embed(["one"])).model == "second"
    room.passes(1)
    assert (await room.routed.embed(["one"])).model == "first"


async def test_nobody_there_is_told_with_a_time() -> None:
    """All away: at once, without asking anyone again, and with the seconds until someone may be back."""
    room = Room()
    room.status = {"first": 500, "second": 500}
    with pytest.raises(EmbeddingAway):
        await room.routed.embed(["one"])
    room.passes(10)

    with pytest.raises(EmbeddingAway) as away:
        await room.routed.embed(["one"])

    assert away.value.retry_after == AWAY_SECONDS - 10
    assert room.calls == ["first", "second"]


async def test_a_query_is_embedded_with_the_model_it_is_compared_to() -> None:
    """Never with another, whether that one is preferred or the only one there."""
    room = Room()

    [vector] = await room.routed.embed_as("second", ["one"])
    assert vector.size == 3
    assert room.calls == ["second"]
    room.status["second"] = 503
    for _ in range(2):
        with pytest.raises(EmbeddingAway):
            await room.routed.embed_as("second", ["one"])
    with pytest.raises(EmbeddingAway, match="third is not configured"):
        await room.routed.embed_as("third", ["one"])
    assert room.calls == ["second", "second"]


async def test_a_wrong_dimension_refuses_to_start() -> None:
    """With both numbers, also when it is the second's."""
    room = Room()
    room.size["second"] = 5

    with pytest.raises(Refused, match="second is configured with dimension 3 but answers with dimension 5"):
        await room.routed.check()


async def test_who_is_away_at_start_may_come_back() -> None:
    """Starting does not depend on somebody else's service."""
    room = Room()
    room.status["first"] = 503

    await room.routed.check()

    assert (await room.routed.embed(["one"])).model == "second"


def test_at_least_one_is_needed() -> None:
    """A router without embedders is a mistake of whoever built it."""
    with pytest.raises(ValueError, match="at least one"):
        RoutedEmbedder([], clock=lambda: START)


def built(settings: Settings) -> AbstractAsyncContextManager[RoutedEmbedder]:
    """The embedders of some settings."""
    return embedder_from(settings, COUNTER, lambda: START)


async def test_the_default_is_local() -> None:
    """Without any setting texts are embedded on this machine."""
    async with built(Settings()) as routed:
        embedding = await routed.embed(["one"])

    assert embedding.model == routed.model == LocalEmbedder.model
    assert embedding.dimension == routed.dimension == 384


async def test_settings_name_providers_in_order() -> None:
    """Models and dimensions are those of the settings."""
    async with built(Settings(embedder="gemini, openai", gemini_embedding_dimension=1024)) as routed:
        assert list(routed.models.items()) == [
            ("gemini-embedding-001", 1024),
            ("text-embedding-3-small", 1536),
        ]


@pytest.mark.parametrize("names", ["", " , ", "local,local", "hashing", "openai,olama"])
async def test_unknown_names_are_refused(names: str) -> None:
    """A slip in the setting is told, not guessed."""
    with pytest.raises(Refused, match="TREERING_EMBEDDER"):
        async with built(Settings(embedder=names)):
            pass

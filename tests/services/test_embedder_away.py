"""Memory while its embedder is away, and when it comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from libs.language.local import LocalEmbedder
from libs.refusal import Refused
from libs.rpc import web
from tests.rig.house import Caller, free_port, opened_house
from tests.rig.postgres import Cluster

DIMENSION = 384
CATCH_UP_SECONDS_MAX = 60


class Provider:
    """An OpenAI-compatible endpoint that can be switched off; real vectors, by the local model."""

    def __init__(self, embedder: LocalEmbedder, port: int) -> None:
        self._embedder = embedder
        self.is_there = False
        self.settings = {
            "TREERING_EMBEDDER": "openai",
            "TREERING_OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "TREERING_OPENAI_EMBEDDING_DIMENSION": str(DIMENSION),
            "TREERING_OPENAI_EMBEDDING_MODEL": "mini",
            "TREERING_MEMORY_EMBED_PENDING_SECONDS": "0.2",
        }

    async def embed(self, request: Request) -> Response:
        """Answer vectors, or that we are away for a second."""
        if not self.is_there:
            return Response(status_code=503, headers={"retry-after": "1"})
        texts: list[str] = (await request.json())["input"]
        vectors = await self._embedder.embed(texts)
        data = [{"index": at, "embedding": vector.tolist()} for at, vector in enumerate(vectors)]
        return JSONResponse({"data": data, "model": "mini"})


@asynccontextmanager
async def provider() -> AsyncGenerator[Provider]:
    """A provider on a port of its own, away at first."""
    embedder, port = LocalEmbedder(), free_port()
    ours = Provider(embedder, port)
    served = Starlette(routes=[Route("/v1/embeddings", ours.embed, methods=["POST"])])
    try:
        async with web.serve(served, "127.0.0.1", port):
            yield ours
    finally:
        await asyncio.to_thread(embedder.close)


async def search(caller: Caller, query: str) -> pb.SearchResponse:
    """What is found."""
    return await caller.memory.Search(pb.SearchRequest(query=query, limit=1))


async def test_what_is_kept_while_away_is_found_by_words_and_embedded_later(cluster: Cluster) -> None:
    """An observation is acknowledged without an embedder; once there is one, it is found by meaning too."""
    async with provider() as ours, opened_house(cluster, **ours.settings) as running:
        caller = await running.caller()
        started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
        kept = await caller.memory.Observe(
            pb.ObserveRequest(
                session_id=started.session.id,
                content="The database outage was caused by a full disk.",
                type=memory.OBSERVATION_TYPE_INSIGHT,
            )
        )
        by_words = await search(caller, "outage disk")

        assert kept.memory.embedding_state == memory.EMBEDDING_STATE_PENDING
        assert (await caller.memory.GetStats(pb.GetStatsRequest())).pending_embeddings == 1
        assert by_words.degraded
        assert [hit.memory_id for hit in by_words.hits] == [kept.memory.id]

        ours.is_there = True
        async with asyncio.timeout(CATCH_UP_SECONDS_MAX):
            while (await caller.memory.GetStats(pb.GetStatsRequest())).pending_embeddings:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        by_meaning = await search(caller, "why was the storage unavailable?")

        assert not by_meaning.degraded
        assert [hit.memory_id for hit in by_meaning.hits] == [kept.memory.id]
        read = await caller.memory.GetMemory(pb.GetMemoryRequest(memory_id=kept.memory.id))
        assert read.memory.embedding_state == memory.EMBEDDING_STATE_READY
        assert read.memory.embedding_model == "mini"


async def test_a_wrong_dimension_refuses_to_open(cluster: Cluster) -> None:
    """A model that answers other vectors than it was told stops the start; both numbers are named."""
    async with provider() as ours:
        ours.is_there = True
        wrong = ours.settings | {"TREERING_OPENAI_EMBEDDING_DIMENSION": "1536"}
        with pytest.raises(Refused, match=r"(?s)1536.*384|384.*1536"):
            async with opened_house(cluster, **wrong):
                pass

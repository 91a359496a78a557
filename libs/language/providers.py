"""Which embedders this house uses, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

from libs.clock import Clock
from libs.language.embeddings import Embedder, RoutedEmbedder
from libs.language.endpoints import http_client
from libs.language.local import LocalEmbedder
from libs.language.remote import REQUEST_SECONDS_MAX, GeminiEmbedder, OpenAIEmbedder
from libs.language.tokens import TokenCounter
from libs.refusal import Refused

NATIVE_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""What OpenAI's models answer unasked; another dimension has to be asked for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where vectors come from."""

    PREFIX: ClassVar[str] = "TREERING_"

    embedder: str = "local"
    """Embedders in order of preference, separated by commas: local, openai, gemini."""
    openai_api_key: str = ""
    """Key for the OpenAI-compatible endpoint; may be empty for a server of your own."""
    openai_base_url: str = "https://api.openai.com/v1"
    """Where the OpenAI-compatible endpoint is, without /embeddings."""
    openai_embedding_model: str = "text-embedding-3-small"
    """The model to ask for."""
    openai_embedding_dimension: int = 1536
    """The dimension of its vectors. Another answer refuses to start."""
    gemini_api_key: str = ""
    """Key for the Gemini API."""
    gemini_base_url: str = "https://generativelanguage.googleapis.com/v1beta"
    """Where the Gemini API is, without /models."""
    gemini_embedding_model: str = "gemini-embedding-001"
    """The model to ask for."""
    gemini_embedding_dimension: int = 768
    """The dimension to ask for: 128 to 3072."""


@asynccontextmanager
async def embedder_from(
    settings: Settings, counter: TokenCounter, clock: Clock
) -> AsyncGenerator[RoutedEmbedder]:
    """Build the embedders that the settings name; their threads and connections end with the block.

    Raises ``Refused`` for a name that is unknown or given twice, or when none is given.
    """
    names = [name for name in (part.strip() for part in settings.embedder.split(",")) if name]
    if not names or len(set(names)) != len(names):
        raise Refused(f"TREERING_EMBEDDER must name each embedder once, not {settings.embedder!r}.")
    async with AsyncExitStack() as stack:
        embedders = [await _embedder(name, settings, counter, stack) for name in names]
        yield RoutedEmbedder(embedders, clock)


async def _embedder(name: str, settings: Settings, counter: TokenCounter, stack: AsyncExitStack) -> Embedder:
    if name == "local":
        local = await asyncio.to_thread(LocalEmbedder)
        stack.push_async_callback(asyncio.to_thread, local.close)
        return local
    if name not in ("openai", "gemini"):
        raise Refused(f"TREERING_EMBEDDER knows local, openai and gemini, not {name!r}.")
    client = await stack.enter_async_context(http_client(REQUEST_SECONDS_MAX))
    if name == "gemini":
        return GeminiEmbedder(
            client,
            counter,
            base_url=settings.gemini_base_url,
            api_key=settings.gemini_api_key,
            model=settings.gemini_embedding_model,
            dimension=settings.gemini_embedding_dimension,
        )
    model, dimension = (settings.openai_embedding_model, settings.openai_embedding_dimension)
    return OpenAIEmbedder(
        client,
        counter,
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key,
        model=model,
        dimension=dimension,
        ask_dimension=model in NATIVE_DIMENSIONS and NATIVE_DIMENSIONS[model] != dimension,
    )

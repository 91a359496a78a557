"""Embed later what could not be embedded when it was kept."""

from __future__ import annotations

import structlog

from libs.clock import Clock
from libs.errors import Unavailable
from libs.language.embeddings import RoutedEmbedder
from services.memory.memories.pending_store import PendingStore

BATCH = 64
BATCHES_MAX = 20
"""In one turn of the loop."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


async def embed_pending(store: PendingStore, embedder: RoutedEmbedder, clock: Clock) -> int:
    """Embed what waits, with the preferred model, until nothing is due or the model is away.

    Answers how many were embedded. Any number of replicas may do this at once.
    """
    embedded = 0
    for _ in range(BATCHES_MAX):
        claimed = await store.claim(BATCH, clock())
        try:
            for profile, ids in claimed.items():
                texts = await store.texts(profile, ids)
                vectors = await embedder.embed_as(embedder.model, [text.text for text in texts])
                await store.keep(profile, embedder.model, texts, vectors)
                embedded += len(texts)
        except Unavailable as problem:
            log.info("embedding.waits", embedded=embedded, why=problem.reason)
            break
        if sum(map(len, claimed.values())) < BATCH:
            break
    if embedded:
        log.info("embedding.caught_up", embedded=embedded)
    return embedded

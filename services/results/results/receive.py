"""Receiving a stream: its parts are kept as they come, and its result when all is there and right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

from libs.clock import Clock
from services.results.results.drafts import Said, drafted
from services.results.results.result import Step
from services.results.results.store import Store
from services.results.results.streams import Incoming, Sender
from services.results.results.values import Encoding


async def receive(
    store: Store,
    sender: Sender,
    said: Said,
    incoming: Incoming,
    chunks: AsyncIterator[bytes],
    result_id: UUID,
    clock: Clock,
) -> Step:
    """Keep what is streamed. A stream that ends early or wrong leaves nothing that anybody can read.

    Raises what ``Store.put_uploaded`` does, ``DigestMismatch``, and ``TooLarge``.
    """
    profile, quota = sender.profile, sender.quota
    drafted(
        said, "", 0, Encoding.BASE64, sender.source
    )  # what is wrong with it is told before anything is kept
    parts = 0
    async for chunk in chunks:
        for part in incoming.add(chunk):
            await store.keep_part(profile, result_id, parts, part, quota, clock())
            parts += 1
    last = incoming.rest()
    draft = drafted(said, incoming.digest, incoming.size_bytes, Encoding.BASE64, sender.source)
    if not parts:
        return await store.put(profile, draft, last, quota, clock())
    await store.keep_part(profile, result_id, parts, last, quota, clock())
    return await store.put_uploaded(profile, draft, result_id, parts + 1, quota, clock())

"""Memories that wait for their vectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from libs.language.embeddings import Vector
from services.memory.memories import rows

PACKAGE = "services.memory.memories"
WAIT = timedelta(seconds=10)
"""Until the second attempt, give or take half; each further one waits twice as long."""
WAIT_MAX = timedelta(minutes=10)
REQUEUED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A text to embed, and where its vector goes."""

    id: UUID
    version: int
    text: str


class PendingStore:
    """The queue of memories of all profiles that the preferred model has not embedded."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def claim(self, limit: int, now: datetime) -> Mapping[UUID, Sequence[UUID]]:
        """Take some memories, by profile. Who does not embed them leaves them to a later attempt."""
        found = await self._database.fetch(self._queries.claim_pending, limit, now, WAIT, WAIT_MAX)
        claimed: dict[UUID, list[UUID]] = defaultdict(list)
        for row in found:
            claimed[row["profile_id"]].append(row["memory_id"])
        return claimed

    async def texts(self, profile: UUID, ids: Sequence[UUID]) -> list[Unembedded]:
        """The texts of those that still exist, as full as they are kept."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.texts, profile, ids)
        return [Unembedded(row["id"], row["version"], rows.whole_of(keys, row)) for row in found]

    async def keep(
        self, profile: UUID, model: str, texts: Sequence[Unembedded], vectors: Sequence[Vector]
    ) -> None:
        """Keep vectors, each for the text that it was made of."""
        late = [(text.id, text.version, vector) for text, vector in zip(texts, vectors, strict=True)]
        await self._database.execute(self._queries.keep_embeddings, profile, model, late)

    async def await_model(self, profile: UUID, model: str, now: datetime) -> None:
        """Have memories that another model embedded embedded by this one, some at a time."""
        async with self._database.as_profile(profile) as connection:
            await connection.execute(self._queries.await_model, profile, model, REQUEUED_MAX, now)

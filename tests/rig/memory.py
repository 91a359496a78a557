"""The memory room on a database of its own, with an embedder that tests can turn off."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from libs.data import installation, migrations
from libs.data.keyring import Keyring
from libs.data.postgres import Database, connect
from libs.language.embeddings import EmbeddingAway, RoutedEmbedder, Vector
from libs.language.tokens import TokenCounter
from services.memory.curation.store import CurationStore
from services.memory.lifecycle.compressor import Compressor
from services.memory.lifecycle.restage import Restager
from services.memory.lifecycle.store import LifecycleStore
from services.memory.memories.memory import Kept
from services.memory.memories.observations import Raw
from services.memory.memories.observe import Observer
from services.memory.memories.pending_store import PendingStore
from services.memory.memories.rings import Ring, Type
from services.memory.memories.store import Store
from services.memory.repetition.store import RepetitionStore
from services.memory.rings.store import RingStore
from services.memory.service import SCHEMA
from services.memory.sessions.store import SessionStore
from tests.rig.ageing import grow_older, promote
from tests.rig.postgres import MASTER, Cluster

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
GRPC = 4
WORKSPACE = UUID(int=7)
"""Where everybody of the room is."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Letters:
    """An embedder by how often letters occur: alike texts get alike vectors, at once."""

    def __init__(self, model: str = "letters") -> None:
        self.model = model
        self.dimension = len(LETTERS)
        self.away = False
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text; ``EmbeddingAway`` while it is turned off."""
        self.calls += 1
        if self.away:
            raise EmbeddingAway
        counted = [np.array([1 + text.lower().count(letter) for letter in LETTERS], float) for text in texts]
        return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in counted]


class Time:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """The time that was set."""
        return self.now

    def passes(self, **time: float) -> None:
        """Let time pass."""
        self.now += timedelta(**time)


@dataclass
class Memories:
    """Everything of the room that needs no call."""

    dsn: str
    """The superuser's."""
    database: Database
    embedder: Letters
    counter: TokenCounter
    clock: Time = field(default_factory=Time)
    memories_max: int = 1_000_000

    def __post_init__(self) -> None:
        """Wire what the service wires."""
        keyring = Keyring(self.database, MASTER, SCHEMA.schema)
        self.routed = RoutedEmbedder([self.embedder], self.clock)
        self.store = Store(self.database, keyring)
        self.rings = RingStore(self.database, keyring)
        self.sessions = SessionStore(self.database, keyring)
        self.pending = PendingStore(self.database, keyring)
        self.curation = CurationStore(self.database, keyring)
        self.repetition = RepetitionStore(self.database, keyring)
        self.observer = Observer(self.store, self.routed, self.counter)
        self.lifecycle = LifecycleStore(self.database, keyring)
        self.restager = Restager(self.lifecycle, Compressor(self.routed, self.counter).begin)

    async def session(self, profile: UUID, name: str = "", agent: str = "") -> UUID:
        """An open session."""
        started = await self.sessions.start(profile, uuid4(), name or str(uuid4()), agent, self.clock())
        return started.id

    async def observe(self, profile: UUID, session_id: UUID, content: str, **fields: Any) -> Kept:
        """One observation kept."""
        [kept] = await self.observe_all(profile, session_id, a_raw(content, **fields))
        return kept

    async def observe_all(self, profile: UUID, session_id: UUID, *raws: Raw) -> list[Kept]:
        """Several kept at once."""
        at = [(f"observations[{number}].", raw) for number, raw in enumerate(raws)]
        return await self.observer.observe(
            WORKSPACE, profile, session_id, GRPC, at, self.memories_max, self.clock()
        )

    async def promote(self, ring: Ring, *ids: UUID) -> None:
        """Put memories into a ring, all of them where none is named."""
        await promote(self.dsn, ring, *ids)

    async def grow_older(self, by: timedelta, *ids: UUID) -> None:
        """Let time pass for memories, for all of them where none is named."""
        await grow_older(self.dsn, by, *ids)

    async def rows(self, query: str, *args: object) -> list[Any]:
        """What the superuser, whom no policy stops, reads."""
        async with migrations.owner(self.dsn) as connection:
            return await connection.fetch(query, *args)


def a_raw(content: str = "The build needs make.", **fields: Any) -> Raw:
    """An observation as it comes in, an insight unless another type is given."""
    return replace(Raw(content, Type.INSIGHT), **fields)


async def make_memory(dsn: str) -> None:
    """Set a database up for memory."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, SCHEMA.schema, SCHEMA.package, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)
    )


@asynccontextmanager
async def memories_in(cluster: Cluster, counter: TokenCounter) -> AsyncGenerator[Memories]:
    """The room on a fresh database."""
    async with (
        cluster.fresh("memory", make_memory) as dsn,
        connect(dsn, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)) as database,
    ):
        yield Memories(dsn, database, Letters(), counter)

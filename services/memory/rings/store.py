"""Changes of memories in Postgres. Each is one SQL function: one round trip and one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from libs import errors
from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from services.memory.memories import rows
from services.memory.memories.memory import Memory, MemoryNotFound
from services.memory.memories.observations import KeyReused
from services.memory.memories.rings import Outcome
from services.memory.memories.store import IDEMPOTENCY_KEPT
from services.memory.rings.standing import MemorySuperseded, RingNotEarned, ShockStays, Wish

PACKAGE = "services.memory.rings"

REFUSALS: Mapping[str, Callable[[Memory], errors.Problem]] = {
    "key_reused": lambda _: KeyReused(),
    "not_earned": RingNotEarned.by,
    "shock_stays": lambda _: ShockStays(),
    "superseded": MemorySuperseded.of,
}
"""By the verdict of a function, and of the memory that it answers with."""


class RingStore:
    """What changes memories, by profile."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def reinforce(
        self, profile: UUID, memory_id: UUID, outcome: Outcome, key: str, now: datetime
    ) -> Memory:
        """Record an outcome; once for each idempotency key. Raises ``MemoryNotFound``, ``KeyReused``."""
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(
            self._queries.reinforce,
            profile,
            memory_id,
            outcome,
            keys.blind("idempotency key", key) if key else None,
            keys.blind("request", f"reinforce {memory_id} {int(outcome)}") if key else None,
            now,
            now + IDEMPOTENCY_KEPT,
        )
        return _answered(keys, row)

    async def promote(self, profile: UUID, wish: Wish, now: datetime) -> Memory:
        """Put a memory into a ring.

        Raises ``MemoryNotFound``, ``MemorySuperseded``, ``RingNotEarned``, and ``ShockStays`` for a shock without
        confirmation and reason.
        """
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(
            self._queries.promote,
            profile,
            wish.memory_id,
            wish.ring,
            rows.seal_note(keys, wish.memory_id, wish.reason) if wish.reason else None,
            wish.demote_shock,
            now,
        )
        return _answered(keys, row)


def _answered(keys: ProfileKeys, row: Row | None) -> Memory:
    """The memory that a function answers with, or the problem that its verdict means."""
    if row is None or row["shown"] is None:
        raise MemoryNotFound
    memory = rows.memory_of(keys, row["shown"])
    refuse = REFUSALS.get(row["verdict"])
    if refuse is not None:
        raise refuse(memory)
    return memory

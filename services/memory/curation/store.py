"""Memories that wait for the curator, and what it says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from libs.language.embeddings import Vector
from services.memory.curation.curation import Subject, Verdict
from services.memory.memories.rings import Outcome, Ring, Type
from services.memory.memories.rows import readable_of

PACKAGE = "services.memory.curation"
WAIT = timedelta(seconds=60)
"""Until one whose verdict never came is taken again, give or take half; each time twice as long."""
WAIT_MAX = timedelta(hours=1)
GONE = Verdict(Ring.FRESH, 1.0, "gone")
"""For what was taken and is no longer there, or no longer fresh: it leaves the queue, and nothing changes."""

Turns = Mapping[UUID, int]
"""Memories that were taken, each with its turn."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory to be classified."""

    subject: Subject
    version: int
    """What its sealed texts are bound to."""
    vector: Vector | None
    """``None`` where there is none of the model that was asked for."""


class CurationStore:
    """The queue of fresh memories of all profiles."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def claim(self, limit: int, now: datetime) -> Mapping[UUID, Turns]:
        """Take some memories, by profile. Nobody else takes them for a while."""
        found = await self._database.fetch(self._queries.claim_uncurated, limit, now, WAIT, WAIT_MAX)
        claimed: dict[UUID, dict[UUID, int]] = defaultdict(dict)
        for row in found:
            claimed[row["profile_id"]][row["memory_id"]] = row["turn"]
        return claimed

    async def waiting(self, profile: UUID, turns: Turns, model: str) -> dict[UUID, Waiting]:
        """Those of some memories that are there, readable and not placed yet; vectors of this model only."""
        keys = await self._keyring.of(profile)
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.subjects, profile, list(turns), model)
        return {
            row["id"]: Waiting(
                Subject(
                    text=text,
                    type=Type(row["type"]),
                    outcome=Outcome(row["outcome"]),
                    successes=row["successes"],
                    failures=row["failures"],
                    asks=row["asks"],
                ),
                row["version"],
                row["embedding"],
            )
            for row in found
            if (text := readable_of(keys, row)) is not None
        }

    async def keep(
        self, profile: UUID, turns: Turns, verdicts: Mapping[UUID, Verdict], now: datetime
    ) -> list[UUID]:
        """Set rings, where nobody else did meanwhile. Answers the memories of which it is true."""
        told = [(one, turn, verdicts.get(one, GONE)) for one, turn in turns.items()]
        items = [(one, turn, said.ring, said.confidence, said.reason) for one, turn, said in told]
        kept = await self._database.fetch(self._queries.curate, profile, items, now)
        return [row[0] for row in kept]

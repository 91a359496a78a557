"""Everything of runs that their owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from libs.clock import Clock
from libs.data import sql
from libs.data.keyring import Keyring
from libs.data.postgres import Database
from libs.data.walking import EPOCH, Place, Walk
from services.results.results.result import Result
from services.results.results.rows import result_of, turn_of
from services.results.results.turns import RunTurn
from services.results.runs.episode import Episode
from services.results.runs.rows import episode_of, named, run_of
from services.results.runs.run import Run

PACKAGE = "services.results.profile_data"
CONTENTS_AT_ONCE = 4
"""Each may have 2 MiB."""
FIRST = (UUID(int=0), -1, -1)


class Export:
    """Reads runs whole."""

    def __init__(self, database: Database, keyring: Keyring, clock: Clock) -> None:
        self._database = database
        self._keyring = keyring
        self._clock = clock
        self._queries = sql.load(PACKAGE)

    def of(self, profile: UUID) -> Sequence[Walk[Any]]:
        """The runs of a profile, their results, their turns, and the journal."""

        async def runs(after: Place | None, limit: int) -> list[Run]:
            keys = await self._keyring.of(profile)
            place = after or (None, None)
            async with self._database.as_profile(profile) as connection:
                found = await connection.fetch(self._queries.runs, profile, *place, limit, self._clock())
            return [run_of(keys, row) for row in found]

        async def results(after: Place | None, limit: int) -> list[Result]:
            keys = await self._keyring.of(profile)
            place = after[1] if after else FIRST
            async with self._database.as_profile(profile) as connection:
                found = await connection.fetch(self._queries.results, profile, *place, limit, self._clock())
            return [
                result_of(keys, named(keys, row)[0], row, row["part"], row["part_sealed"]) for row in found
            ]

        async def turns(after: Place | None, limit: int) -> list[RunTurn]:
            keys = await self._keyring.of(profile)
            run_id, number, _ = after[1] if after else FIRST
            async with self._database.as_profile(profile) as connection:
                found = await connection.fetch(
                    self._queries.turns, profile, run_id, number, limit, self._clock()
                )
            return [RunTurn(row["run_id"], turn_of(keys, row)) for row in found]

        async def episodes(after: Place | None, limit: int) -> list[Episode]:
            keys = await self._keyring.of(profile)
            run_id = after[1] if after else UUID(int=0)
            async with self._database.as_profile(profile) as connection:
                found = await connection.fetch(self._queries.episodes, profile, run_id, limit)
            return [episode_of(keys, row) for row in found]

        return (
            Walk("run", runs, lambda one: (one.created_at, one.id)),
            Walk(
                "result",
                results,
                lambda one: (EPOCH, _Spot((one.step.run_id, one.step.position, one.part))),
                read_id=_spot,
                size=CONTENTS_AT_ONCE,
            ),
            Walk("turn", turns, lambda one: (EPOCH, _Spot((one.run_id, one.turn.number, 0))), read_id=_spot),
            Walk("episode", episodes, lambda one: (EPOCH, one.run_id)),
        )


class _Spot(tuple[UUID, int, int]):
    """A place within a run: its id, a number and a part. Written as it is read again by ``_spot``."""

    __slots__ = ()

    def __str__(self) -> str:
        return "/".join(map(str, self))


def _spot(text: str) -> _Spot:
    run_id, number, part = text.split("/")
    return _Spot((UUID(run_id), int(number), int(part)))

"""Runs in Postgres. Each call is one round trip and one commit; finishing reads the goal first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from libs.data import sql
from libs.data.faults import Overtaken
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from libs.language.lexing import Lexing
from services.results.runs import rows
from services.results.runs.drafts import Draft, Finishing
from services.results.runs.quota import Quota
from services.results.runs.run import (
    FinalNotReady,
    Kind,
    Run,
    RunCancelled,
    RunClosed,
    RunExists,
    RunNotFound,
    Standing,
    State,
)

PACKAGE = "services.results.runs"
ATTEMPTS_MAX = 3
"""Tries to finish a run whose goal is told at the same moment."""

Changed = Callable[[UUID, bytes, bytes | None], None]
"""Told after a commit: profile, workflow, and the task that has a result; none where the run has ended."""


class RunStore:
    """What is kept of runs, by profile."""

    def __init__(self, database: Database, keyring: Keyring, lexing: Lexing, changed: Changed) -> None:
        self._database = database
        self._keyring = keyring
        self._lexing = lexing
        self._changed = changed
        self._queries = sql.load(PACKAGE)

    async def start(self, profile: UUID, draft: Draft, quota: Quota, now: datetime) -> Run:
        """Begin a run, or answer the same one. Raises ``RunExists``, ``RunNotFound``, ``QuotaExceeded``."""
        keys = await self._keyring.of(profile)
        item = rows.item_of(keys, draft)
        [row] = await self._database.fetch(self._queries.start, profile, item, quota.limits, now)
        quota.check(row["verdict"])
        return rows.run_of(keys, _done(row))

    async def finish(self, profile: UUID, run_id: UUID, how: Finishing, now: datetime) -> Run:
        """End a run and append its episode, once.

        Raises ``RunNotFound``, ``RunClosed``, ``RunCancelled``; ``FinalNotReady`` if the final task has none.
        """
        keys = await self._keyring.of(profile)
        for _ in range(ATTEMPTS_MAX - 1):
            with suppress(Overtaken):
                return await self._finish(keys, profile, run_id, how, now)
        return await self._finish(keys, profile, run_id, how, now)

    async def cancel(self, profile: UUID, run_id: UUID, now: datetime) -> Run:
        """Call a run off. Raises ``RunNotFound``, ``RunClosed``."""
        keys = await self._keyring.of(profile)
        row = await self._one(self._queries.cancel, profile, run_id, now)
        self._changed(profile, row["workflow_mac"], None)
        return rows.run_of(keys, row)

    async def status(self, profile: UUID, run_id: UUID, now: datetime) -> Standing:
        """Where a run stands. Raises ``RunNotFound``."""
        keys = await self._keyring.of(profile)
        row = await self._database.fetchrow(self._queries.status, profile, run_id, now)
        if row is None:
            raise RunNotFound
        run = row["run"]
        return Standing(rows.run_of(keys, run), row["succeeded"], row["failed"], run["turns"])

    async def newest(
        self,
        profile: UUID,
        kind: Kind | None,
        state: State | None,
        limit: int,
        after: tuple[datetime, UUID] | None,
        now: datetime,
    ) -> list[Run]:
        """Runs, the newest first, without what they came to."""
        keys = await self._keyring.of(profile)
        created_at, last_id = after or (None, None)
        found = await self._database.fetch(
            self._queries.newest, profile, kind, state, created_at, last_id, limit, now
        )
        return [rows.run_of(keys, row) for row in found]

    async def sweep(self, limit: int, known: timedelta, now: datetime) -> bool:
        """Remove some of what has expired, of any profile. Answers whether there may be more."""
        return await self._database.fetchval(self._queries.sweep, limit, known, now)

    async def _finish(
        self, keys: ProfileKeys, profile: UUID, run_id: UUID, how: Finishing, now: datetime
    ) -> Run:
        there = await self._database.fetchrow(self._queries.status, profile, run_id, now)
        if there is None:
            raise RunNotFound
        item = await self._lexing.run(
            len(how.outcome), lambda lexer: rows.finishing_of(keys, there["run"], how, lexer)
        )
        row = await self._one(self._queries.finish, profile, run_id, item, now)
        self._changed(profile, row["workflow_mac"], None)
        return rows.run_of(keys, row)

    async def _one(self, query: str, *args: object) -> Row:
        [row] = await self._database.fetch(query, *args)
        return _done(row)


def _done(row: Row) -> Row:
    """The run of what was done. Raises the problem that a row tells of instead."""
    match row["verdict"]:
        case "exists":
            raise RunExists
        case "no_parent":
            raise RunNotFound("There is no run with the id in parent_run_id.")
        case "unknown":
            raise RunNotFound
        case "closed":
            raise RunClosed
        case "cancelled":
            raise RunCancelled
        case "not_ready":
            raise FinalNotReady
        case "moved":
            raise Overtaken
        case _:
            return row["run"]

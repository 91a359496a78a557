"""Policies and sweeps in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from libs.data import sql
from libs.data.postgres import Database, Row
from services.decay.ageing.policy import DEFAULT, STAGES, Factors, Policy, Stage, StagePolicy
from services.decay.ageing.sweep import SWEEPS_KEPT, Sweep, SweepNotFound, Tally, Trigger

PACKAGE = "services.decay.ageing"
ENTERED = (Stage.COMPRESSED, Stage.SUMMARY, Stage.ESSENCE, Stage.FORGOTTEN)
"""In the order of a ``decay.tally``."""


class Store:
    """What is kept of policies, by workspace, and of sweeps, by profile."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queries = sql.load(PACKAGE)

    async def policies(self, workspaces: Sequence[UUID]) -> dict[UUID, Policy]:
        """The policy of each workspace: its own, or the default."""
        rows = await self._database.fetch(self._queries.policies, workspaces)
        return dict.fromkeys(workspaces, DEFAULT) | {row["workspace_id"]: _policy(row) for row in rows}

    async def set_policy(self, workspace: UUID, policy: Policy) -> Policy:
        """Keep a workspace's policy."""
        stages = [value for stage in STAGES for value in (policy.at(stage).tokens, policy.at(stage).duration)]
        factors = policy.factors
        [row] = await self._database.fetch(
            self._queries.set_policy,
            workspace,
            *stages,
            policy.fresh,
            factors.accessed,
            factors.reinforced,
            factors.failing,
            policy.keep_originals,
        )
        return _policy(row)

    async def note(
        self, sweep_id: UUID, trigger: Trigger, tallies: Mapping[str, Tally], *, complete: bool = False
    ) -> None:
        """Add what a sweep did to some profiles."""
        rows = [
            (
                UUID(profile),
                *(tally.entered.get(stage, 0) for stage in ENTERED),
                tally.failed,
                tally.set_aside,
                tally.tokens_freed,
            )
            for profile, tally in tallies.items()
        ]
        await self._database.execute(self._queries.note_sweep, sweep_id, trigger, complete, rows)

    async def sweep(self, profile: UUID, sweep_id: UUID) -> Sweep:
        """What a sweep did to a profile. Raises ``SweepNotFound``."""
        async with self._database.as_profile(profile) as connection:
            row = await connection.fetchrow(self._queries.sweep, profile, sweep_id)
        if row is None:
            raise SweepNotFound
        return _sweep(row)

    async def sweeps(self, profile: UUID, limit: int, after: tuple[datetime, UUID] | None) -> list[Sweep]:
        """A profile's sweeps, the newest first."""
        async with self._database.as_profile(profile) as connection:
            rows = await connection.fetch(self._queries.sweeps, profile, *(after or (None, None)), limit)
        return [_sweep(row) for row in rows]

    async def forget_sweeps(self, limit: int) -> int:
        """Delete some sweeps of long ago, of any profile. Answers how many."""
        return await self._database.fetchval(self._queries.forget_sweeps, limit, SWEEPS_KEPT)


def _policy(row: Row) -> Policy:
    full, compressed, summary, essence = (
        StagePolicy(row[f"{stage.name.lower()}_tokens"], row[f"{stage.name.lower()}_duration"])
        for stage in STAGES
    )
    return Policy(
        full,
        compressed,
        summary,
        essence,
        row["fresh_duration"],
        Factors(row["accessed"], row["reinforced"], row["failing"]),
        row["keep_originals"],
        row["updated_at"],
    )


def _sweep(row: Row) -> Sweep:
    entered = {stage: row[stage.name.lower()] for stage in ENTERED}
    return Sweep(
        row["id"],
        Trigger(row["trigger"]),
        row["started_at"],
        row["ended_at"],
        Tally(entered, row["failed"], row["set_aside"], row["tokens_freed"]),
        row["complete"],
    )

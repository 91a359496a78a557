"""Restage: read, shorten without any lock, and keep only if nothing has changed meanwhile."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import structlog

from libs.data.faults import DatabaseFault
from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from libs.errors import Unavailable
from services.memory.lifecycle import rows
from services.memory.lifecycle.ages import Restaged, Result, Step
from services.memory.lifecycle.forms import Shorter, at_stage
from services.memory.lifecycle.store import LifecycleStore
from services.memory.memories.rings import Stage

log: structlog.stdlib.BoundLogger = structlog.get_logger()

AT_ONCE = 4
"""Memories whose texts are shortened side by side, as many as a language model is asked about at once."""

Made = tuple[rows.Item, int]
"""A memory at its next stage, and the tokens that it loses."""


class Restager:
    """Moves memories to their next stages. One that cannot be moved does not hold up the others."""

    def __init__(self, store: LifecycleStore, begin: Callable[[], Shorter]) -> None:
        """``begin`` gives what shortens the texts of one call."""
        self._store = store
        self._begin = begin

    async def restage(self, token: int, steps: Sequence[Step]) -> list[Restaged]:
        """Take the steps of a lease. One answer for each, in their order."""
        by_profile: dict[UUID, dict[UUID, Step]] = defaultdict(dict)
        for step in steps:
            by_profile[step.profile][step.memory_id] = step
        shorter = self._begin()
        came = {
            profile: await self._of_profile(profile, token, own, shorter)
            for profile, own in by_profile.items()
        }
        return [came[step.profile][step.memory_id] for step in steps]

    async def _of_profile(
        self, profile: UUID, token: int, steps: Mapping[UUID, Step], shorter: Shorter
    ) -> dict[UUID, Restaged]:
        keys = await self._store.keys(profile)
        leased = await self._store.leased(profile, token, list(steps))
        made: dict[UUID, Made] = {}
        failed: set[UUID] = set()
        turns = asyncio.Semaphore(AT_ONCE)

        async def make(row: Row) -> None:
            try:
                async with turns:
                    made[row["id"]] = await self._make(keys, row, steps[row["id"]], shorter)
            except Unavailable:
                raise
            except Exception:
                log.exception("restage.failed", memory=str(row["id"]))
                failed.add(row["id"])

        await asyncio.gather(*map(make, leased))
        moved, refused = await self._keep(profile, token, made)
        failed |= refused
        changed = steps.keys() - moved - failed
        left = changed or failed
        set_aside = await self._store.give_back(profile, token, changed, failed) if left else set[UUID]()
        came = dict.fromkeys(steps, Restaged(Result.SKIPPED))
        came |= {one: Restaged(Result.MOVED, made[one][1]) for one in moved}
        came |= {one: Restaged(Result.SET_ASIDE if one in set_aside else Result.FAILED) for one in failed}
        return came

    async def _make(self, keys: ProfileKeys, row: Row, step: Step, shorter: Shorter) -> Made:
        """A memory at its next stage, and the tokens that it loses."""
        if step.stage is Stage.FORGOTTEN:
            return rows.forgotten(row["id"]), row["content_tokens"]
        leased = rows.leased_of(keys, row)
        texts = await at_stage(leased.texts, step.stage, step.tokens, shorter)
        return rows.item_of(keys, leased, step, texts), leased.texts.content_tokens - texts.content_tokens

    async def _keep(
        self, profile: UUID, token: int, made: Mapping[UUID, Made]
    ) -> tuple[set[UUID], set[UUID]]:
        """Which were moved, and which the database refuses: all together, else one by one."""
        items = [item for item, _ in made.values()]
        try:
            return await self._store.move(profile, token, items), set()
        except DatabaseFault:
            log.exception("restage.refused", memories=len(items))
        moved: set[UUID] = set()
        refused: set[UUID] = set()
        for memory_id, (item, _) in made.items():
            try:
                moved |= await self._store.move(profile, token, [item])
            except DatabaseFault:
                refused.add(memory_id)
        return moved, refused

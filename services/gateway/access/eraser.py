"""Erases profiles, a step at a time, on whichever replica takes the next step.

Every step can be done again, so that one that was cut short is simply done anew once its lease is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import grpc
import structlog

from libs.clock import Clock
from services.gateway.access.erasure_store import ErasureStore
from services.gateway.access.erasures import Erasure, due, is_emptied, next_at
from services.gateway.access.keepers import ERASE_SECONDS, Keeper

LEASE = timedelta(seconds=ERASE_SECONDS + 5)
"""Longer than one call to a service; renewed after each."""
ERASURES_MAX = 20
"""Gone on with in one turn of the loop."""
CALLS_MAX = 20
"""To one service about one erasure in one turn."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Eraser:
    """Goes on with erasures until each service keeps nothing."""

    def __init__(
        self, store: ErasureStore, keepers: Sequence[Keeper], settle: timedelta, clock: Clock
    ) -> None:
        self._store = store
        self._keepers = {keeper.name: keeper for keeper in keepers}
        self._settle = settle
        self._clock = clock

    async def turn(self) -> None:
        """Go on with what is due; a loop does this every second."""
        for _ in range(ERASURES_MAX):
            erasure = await self._store.claim(LEASE, self._clock())
            if erasure is None:
                return
            await self._go_on(erasure)

    async def _go_on(self, erasure: Erasure) -> None:
        profile = erasure.profile_id
        asked = due(erasure, list(self._keepers), self._settle, self._clock())
        well = [await self._emptied(profile, self._keepers[name], turn) for name, turn in asked.items()]
        now = self._clock()
        reached = await self._store.find(profile)
        if is_emptied(reached, list(self._keepers)):
            await self._store.finish(profile, now)
            log.info("profile.erased", profile=str(profile))
            return
        failed = not all(well)
        at = next_at(reached, list(self._keepers), self._settle, now, failed=failed)
        await self._store.postpone(profile, at, failed=failed)

    async def _emptied(self, profile: UUID, keeper: Keeper, turn: int) -> bool:
        """Have a service delete until nothing remains or it has been asked often enough for now.

        Answers whether the service was there.
        """
        for _ in range(CALLS_MAX):
            try:
                erased = await keeper.erase(profile)
            except grpc.aio.AioRpcError as error:
                log.info("erasure.waits", profile=str(profile), service=keeper.name, code=error.code().name)
                return False
            await self._store.note(profile, keeper.name, turn, erased, LEASE, self._clock())
            if not erased.remaining:
                break
        return True

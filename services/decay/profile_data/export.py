"""Everything of sweeps that their owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from libs.data.walking import Place, Walk
from services.decay.ageing.store import Store
from services.decay.ageing.sweep import Sweep


class Export:
    """Reads sweeps whole."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, profile: UUID) -> Sequence[Walk[Any]]:
        """The sweeps of a profile, the newest first."""

        async def sweeps(after: Place | None, limit: int) -> list[Sweep]:
            return await self._store.sweeps(profile, limit, after)

        return [Walk("sweep", sweeps, lambda one: (one.started_at, one.id))]

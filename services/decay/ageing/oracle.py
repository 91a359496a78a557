"""Forecasts: memory tells the ages, the arithmetic tells the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from libs import errors
from services.decay.ageing.forecast import Outlook, Outlooks, Passage, passages
from services.decay.ageing.lifecycle import Lifecycle
from services.decay.ageing.store import Store


class MemoryNotFound(errors.Missing):
    """There is no memory with this id."""

    reason = "MEMORY_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What there will be."""

    outlooks: Sequence[Outlook]
    passages: Sequence[Passage]
    """The steps of the one memory that was asked about."""


class Oracle:
    """Looks ahead."""

    def __init__(self, lifecycle: Lifecycle, store: Store) -> None:
        self._lifecycle = lifecycle
        self._store = store

    async def forecast(
        self, workspace: UUID, profile: UUID, memory_id: UUID | None, dates: Sequence[datetime]
    ) -> Forecast:
        """Where a memory, or all of a profile, will stand on some dates; now, where there are none.

        Raises ``MemoryNotFound``.
        """
        policy = (await self._store.policies([workspace]))[workspace]
        outlooks: Outlooks | None = None
        steps: list[Passage] = []
        async for ages, now in self._lifecycle.ages(profile, memory_id):
            outlooks = outlooks or Outlooks(policy, dates or [now], now)
            if memory_id is not None:
                if not ages:
                    raise MemoryNotFound
                steps = list(passages(ages[0], policy, now))
            outlooks.add(ages)
        return Forecast(outlooks.outlooks() if outlooks else [], steps)

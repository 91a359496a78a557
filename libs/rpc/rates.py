"""How often a key may call. Each class of method has a counter of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from libs.errors import TooMuch

WINDOW_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """Calls a second that one key may make, measured over ten seconds, in each process. 0: no limit."""

    PREFIX: ClassVar[str] = "TREERING_RATE_"

    read: int = 500
    """Calls a second that only read."""
    write: int = 500
    """Calls a second that write."""
    admin: int = 50
    """Calls a second to AccessService."""


class Rates:
    """Counts calls by key and class, in this process."""

    def __init__(self, settings: Settings) -> None:
        """Build a limit for each class that has one."""
        allowed = {"read": settings.read, "write": settings.write, "admin": settings.admin}
        self._limits = {
            name: RateLimitItemPerSecond(calls * WINDOW_SECONDS, WINDOW_SECONDS)
            for name, calls in allowed.items()
            if calls > 0
        }
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def admit(self, key: str, rate_class: str) -> None:
        """Count one call, or raise ``TooMuch`` with the seconds after which to try again."""
        limit = self._limits.get(rate_class)
        if limit is None or await self._limiter.hit(limit, key, rate_class):
            return
        window = await self._limiter.get_window_stats(limit, key, rate_class)
        raise TooMuch(
            metadata={"class": rate_class},
            retry_after=min(max(window.reset_time - time.time(), 0.1), WINDOW_SECONDS),
        )

"""Work that is done again and again beside the calls."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

JITTER = 0.1
"""Share of the interval by which each wait differs, so that replicas do not work in step."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Loop:
    """A job and how often it runs."""

    name: str
    seconds: float
    job: Callable[[], Awaitable[object]]
    limit_seconds: float

    async def run(self) -> None:
        """Run the job until cancelled. One that fails or takes too long is logged and tried again."""
        while True:
            # Chance spreads load here; nothing is kept secret by it.
            await asyncio.sleep(self.seconds * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311
            try:
                async with asyncio.timeout(self.limit_seconds):
                    await self.job()
            except Exception:
                log.exception("loop.failed", loop=self.name)


def every(
    seconds: float, job: Callable[[], Awaitable[object]], *, name: str, limit_seconds: float = 60
) -> Loop:
    """Run a job every so many seconds."""
    return Loop(name, seconds, job, limit_seconds)

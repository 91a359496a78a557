"""How long calls take, as a distribution."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Timed:
    """Calls made and how long they took."""

    calls: int
    p50_ms: float
    p95_ms: float
    per_second: float


async def timed(
    call: Callable[[int], Awaitable[object]], calls: int, *, at_once: int = 1, warm: int = 20
) -> Timed:
    """Make calls, some at once, after a few that do not count. ``call`` gets the call's number."""
    for number in range(warm):
        await call(-1 - number)
    numbers = iter(range(calls))
    took: list[float] = []

    async def worker() -> None:
        for number in numbers:
            started = time.perf_counter()
            await call(number)
            took.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    seconds = time.perf_counter() - started
    return Timed(calls, median(took), quantiles(took, n=20)[-1], calls / seconds)

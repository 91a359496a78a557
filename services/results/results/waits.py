"""Waiting: for one result, or for whatever comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from libs.errors import NotReady
from services.results.results.result import Arrival
from services.results.runs.run import State
from services.results.waiting import Waiter

MARGIN_SECONDS = 0.5
"""What is kept of a call's deadline to answer in."""
WATCH_SECONDS_MAX = 60.0
"""How long results are followed, however fast they come."""

T = TypeVar("T")


def patience(asked: float, remaining: float | None) -> float:
    """How long to wait: as asked, but so that there is time to answer before the call's deadline."""
    return asked if remaining is None else max(0.0, min(asked, remaining - MARGIN_SECONDS))


async def ready(waiter: Waiter, seconds: float, read: Callable[[], Awaitable[T]]) -> T:
    """What can be read, as soon as it is ready; ``NotReady`` if it is not within so many seconds."""
    ends = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            return await read()
        except NotReady:
            if not await waiter.within(ends - asyncio.get_running_loop().time()):
                raise


async def arrivals(
    waiter: Waiter, after: int, seconds: float, read: Callable[[int], Awaitable[Arrival]]
) -> AsyncGenerator[Arrival]:
    """Results as they arrive after a position, and last that the run has ended, within so many seconds."""
    begun = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() < begun + WATCH_SECONDS_MAX:
        arrival = await read(after)
        if arrival.result:
            waiter.after = after = arrival.result.step.position
            yield arrival
        elif arrival.state is not State.RUNNING:
            yield arrival
            return
        elif not await waiter.within(begun + seconds - asyncio.get_running_loop().time()):
            return

"""Whether time tells what answers do not: reading what is another's, against what is nobody's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from statistics import median
from time import perf_counter
from uuid import uuid4

import grpc
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from bench.people import Person

PAIRS = 1000


async def run(one: Person, other: Person) -> dict[str, float]:
    """Medians in milliseconds of a refused read, taken in turns, and their ratio; 1 tells nothing."""
    started = await other.memory.StartSession(pb.StartSessionRequest(content_session_id="theirs"))
    kept = await other.memory.Observe(
        pb.ObserveRequest(
            session_id=started.session.id, content="theirs", type=memory.OBSERVATION_TYPE_INSIGHT
        )
    )
    theirs = str(kept.memory.id)
    ids: dict[str, Callable[[], str]] = {"nobody's": lambda: str(uuid4()), "another's": lambda: theirs}
    took: dict[str, list[float]] = {whose: [] for whose in ids}
    for _ in range(PAIRS):
        for whose, memory_id in ids.items():
            request = pb.GetMemoryRequest(memory_id=memory_id())
            begun = perf_counter()
            with suppress(grpc.aio.AioRpcError):
                await one.memory.GetMemory(request)
            took[whose].append((perf_counter() - begun) * 1000)
    medians = {f"{whose} ms": median(times) for whose, times in took.items()}
    return medians | {"ratio": median(took["another's"]) / median(took["nobody's"])}

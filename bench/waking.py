"""How long after a put a waiter has the result."""

from __future__ import annotations

import asyncio
import time
from statistics import median, quantiles

from treering.results.v1 import results_service_pb2 as pb

from bench.people import Person

RUN = "waking"
ROUNDS = 200
ASLEEP_SECONDS = 0.05
"""How long a waiter has before the put, so that it does wait."""
TIMEOUT_SECONDS = 30


async def run(person: Person) -> dict[str, float]:
    """From the put's answer to the waiter's, in milliseconds; below zero where the waiter was first."""
    took = [await _woken(person, number) for number in range(ROUNDS)]
    return {"p50 ms": median(took), "p95 ms": quantiles(took, n=20)[-1]}


async def _woken(person: Person, number: int) -> float:
    task = f"task {number}"
    await person.results.PutResult(pb.PutResultRequest(workflow_id=RUN, task_id="first", content=""))

    async def wait() -> float:
        await person.results.WaitResult(
            pb.WaitResultRequest(workflow_id=RUN, task_id=task, timeout=TIMEOUT_SECONDS)
        )
        return time.perf_counter()

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(ASLEEP_SECONDS)
    await person.results.PutResult(pb.PutResultRequest(workflow_id=RUN, task_id=task, content="a value"))
    put = time.perf_counter()
    return (await waiting - put) * 1000

"""How fast observations come in: one by one and a hundred at once."""

from __future__ import annotations

from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from bench.house import House
from bench.people import Person
from bench.texts import sentence
from bench.timing import timed

BATCH = 100
AT_ONCE = 16


async def run(house: House, person: Person, label: str, singles: int, batches: int) -> dict[str, float]:
    """Observations a second and processor time for each: one by one, 16 at once, in batches; batch to one."""
    started = await person.memory.StartSession(pb.StartSessionRequest(content_session_id=label))
    session = started.session.id

    async def one(number: int) -> None:
        await person.memory.Observe(
            pb.ObserveRequest(
                session_id=session, content=sentence(number), type=memory.OBSERVATION_TYPE_INSIGHT
            )
        )

    async def many(number: int) -> None:
        first = 1_000_000 + number * BATCH
        observations = [
            pb.Observation(content=sentence(each), type=memory.OBSERVATION_TYPE_INSIGHT)
            for each in range(first, first + BATCH)
        ]
        await person.memory.ObserveBatch(
            pb.ObserveBatchRequest(session_id=session, observations=observations)
        )

    before = house.cpu_seconds()
    single = await timed(one, singles, warm=0)
    between = house.cpu_seconds()
    batch = await timed(many, batches, warm=0)
    after = house.cpu_seconds()
    crowd = await timed(lambda number: one(singles + number), singles, at_once=AT_ONCE, warm=0)
    return {
        "observe_per_second": single.per_second,
        "observe_16_at_once_per_second": crowd.per_second,
        "observe_cpu_ms": (between - before) / singles * 1000,
        "batch_per_second": batch.per_second * BATCH,
        "batch_cpu_ms": (after - between) / (batches * BATCH) * 1000,
        "ratio": batch.per_second * BATCH / single.per_second,
    }

"""Search as memories grow: how long it takes, and whether limiting its candidates loses answers.

Ten profiles share one database. Each question asks within a filter that half of the memories pass; what it
finds is held against the same search with every memory as a candidate.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from uuid import UUID

from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from bench.house import House
from bench.people import Person, person
from bench.texts import question, sentence
from bench.timing import timed
from libs.clock import system_clock
from libs.data.keyring import Keyring
from libs.data.master_key import load_master_key
from libs.data.postgres import connect
from libs.language import providers
from libs.language.tokens import TokenCounter
from services.memory.memories.pending_store import PendingStore
from services.memory.search.find import Finder
from services.memory.search.layers import Found
from services.memory.search.query import Filters, Query
from services.memory.search.store import Choose, Look, SearchStore, Settle
from services.memory.service import SCHEMA

PROFILES = 10
BATCH = 100
LIMIT = 10
QUESTIONS = 100
EVERYTHING = 1_000_000
TAG = "even"


class Exhaustive(SearchStore):
    """The same search with every memory as a candidate."""

    async def search(self, profile: UUID, look: Look, choose: Choose, settle: Settle | None = None) -> Found:
        """Search without a limit on candidates."""
        return await super().search(profile, replace(look, arm_limit=EVERYTHING), choose, settle)


async def run(house: House, memories: int) -> dict[str, float]:
    """Milliseconds of a search at the median and at 95 %, and its recall@10 against the exhaustive one."""
    async with AsyncExitStack() as stack:
        people = [await person(house, stack) for _ in range(PROFILES)]
        for number, one in enumerate(people):
            await _load(one, number, memories // PROFILES)
            print(
                f"   {(number + 1) * memories // PROFILES} of {memories} memories",
                file=sys.stderr,
                flush=True,
            )
        exhaustive = await stack.enter_async_context(_exhaustive(house))

        def asked(number: int) -> pb.SearchRequest:
            return pb.SearchRequest(query=question(number), limit=LIMIT, tags=[TAG])

        async def search(number: int) -> pb.SearchResponse:
            return await people[number % PROFILES].memory.Search(asked(number))

        took = await timed(search, QUESTIONS)
        found = wanted = 0
        for number in range(QUESTIONS):
            one = people[number % PROFILES]
            answer = await search(number)
            query = Query(question(number), LIMIT, Filters(tags=(TAG,)))
            exact = await exhaustive.find(UUID(one.profile_id), query)
            ids = {str(hit.memory_id) for hit in exact.hits}
            found += len(ids & {hit.memory_id for hit in answer.hits})
            wanted += len(ids)
    return {
        "memories": memories,
        "p50_ms": took.p50_ms,
        "p95_ms": took.p95_ms,
        "recall_at_10": found / wanted,
    }


async def _load(one: Person, profile: int, count: int) -> None:
    started = await one.memory.StartSession(pb.StartSessionRequest(content_session_id="scale"))
    numbers = range(profile * EVERYTHING, profile * EVERYTHING + count)
    for first in range(0, count, BATCH):
        observations = [
            pb.Observation(
                content=sentence(number),
                type=memory.OBSERVATION_TYPE_INSIGHT,
                tags=[TAG] if number % 2 == 0 else [],
            )
            for number in numbers[first : first + BATCH]
        ]
        await one.memory.ObserveBatch(
            pb.ObserveBatchRequest(session_id=started.session.id, observations=observations)
        )


@asynccontextmanager
async def _exhaustive(house: House) -> AsyncGenerator[Finder]:
    master = load_master_key(house.home)
    counter = TokenCounter()
    async with (
        connect(house.dsn, role=SCHEMA.role, password=master.password(SCHEMA.role), size=2) as database,
        providers.embedder_from(providers.Settings(), counter, system_clock) as embedder,
    ):
        keyring = Keyring(database, master, SCHEMA.schema)
        pending = PendingStore(database, keyring)
        yield Finder(Exhaustive(database, keyring), pending, embedder, counter, system_clock)

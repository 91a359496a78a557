"""Strict searches through the front door: only what clearly answers."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
JANUARY, JUNE = 1_767_225_600, 1_780_272_000

FACTS = [
    pb.Observation(
        content="The invoice service listens on port 7001.",
        type=INSIGHT,
        occurred_at=Timestamp(seconds=JANUARY),
    ),
    pb.Observation(
        content="The invoice service now listens on port 7443.",
        type=INSIGHT,
        occurred_at=Timestamp(seconds=JUNE),
    ),
    pb.Observation(content="The login service signs tokens with Ed25519.", type=INSIGHT, aliases=["JWT"]),
    pb.Observation(content="The greenhouse is watered at dawn.", type=INSIGHT, tags=["garden"]),
]


async def strictly(house: Caller, query: str, **fields: Any) -> list[int]:
    """Which of ``FACTS`` a strict search returns."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="facts"))
    batch = pb.ObserveBatchRequest(session_id=started.session.id, observations=FACTS)
    ids = [memory.id for memory in (await house.memory.ObserveBatch(batch)).memories]
    request = pb.SearchRequest(query=query, precision=pb.PRECISION_STRICT, **fields)
    return [ids.index(hit.memory_id) for hit in (await house.memory.Search(request)).hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("On which port does the invoice service listen?", [1]),
        ("How does the login service sign tokens?", [2]),
        ("explain JWT please", [2]),
        ("The greenhouse is watered at dawn.", [3]),
        ("On which port does the Kestrel service listen?", []),
        ("Who won the chess tournament?", []),
    ],
)
async def test_only_what_clearly_answers_comes_back(house: Caller, query: str, expected: list[int]) -> None:
    """The newest telling of a fact, a memory called by its alias, or nothing; never the next best."""
    assert await strictly(house, query) == expected


async def test_strict_stays_within_its_scope(house: Caller) -> None:
    """What would clearly answer is no answer where the filters leave it out."""
    assert await strictly(house, "How does the login service sign tokens?", tags=["garden"]) == []

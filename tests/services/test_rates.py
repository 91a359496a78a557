"""How often a key may call."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import grpc
import pytest
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, House, opened_house
from tests.rig.postgres import Cluster
from tests.services.test_chain import refused

READS_PER_SECOND = 2
CALLS = 60
"""More reads than two windows of ten seconds allow."""


@pytest.fixture(scope="module")
async def strict_house(cluster: Cluster) -> AsyncGenerator[House]:
    """A house that lets a key read twice a second."""
    async with opened_house(cluster, TREERING_RATE_READ=str(READS_PER_SECOND)) as running:
        yield running


async def reads_until_refused(caller: Caller) -> int:
    """How many reads are answered before the first that is not."""
    for done in range(CALLS):
        try:
            await caller.memory.GetStats(pb.GetStatsRequest())
        except grpc.aio.AioRpcError:
            return done
    return CALLS


async def test_a_greedy_key_is_told_when_to_come_back(strict_house: House) -> None:
    """The refusal says which class of calls is meant and after how long to try again, through each door."""
    caller = await strict_house.caller()

    assert await reads_until_refused(caller) < CALLS
    code, reason, details = await refused(caller.memory.GetStats(pb.GetStatsRequest()))
    answer = await caller.http.get("/v1/stats")

    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert details["ErrorInfo"].metadata["class"] == "read"
    assert 0 < details["RetryInfo"].retry_delay.ToMilliseconds() <= 10_000
    assert (answer.status_code, answer.json()["reason"]) == (429, "RATE_LIMITED")
    assert 1 <= int(answer.headers["retry-after"]) <= 10


async def test_classes_and_keys_have_counters_of_their_own(strict_house: House) -> None:
    """Who has read too often may still write, and nobody else is held up."""
    greedy, other = await strict_house.caller(), await strict_house.caller()

    await reads_until_refused(greedy)

    assert await greedy.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    assert await other.memory.GetStats(pb.GetStatsRequest())

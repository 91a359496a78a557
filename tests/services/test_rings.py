"""Outcomes, and the rings that they and callers move memories to, through the front door."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, unknown_id
from tests.rig.refusals import refused
from tests.rig.rings import (
    FAILURE,
    FRESH,
    INSIGHT,
    LONG_TERM,
    NEUTRAL,
    PRACTICE,
    PROCEDURE,
    SHOCK,
    SUCCESS,
    a_memory,
    a_session,
    promoted,
    reinforced,
)


async def test_an_outcome_moves_the_score(house: Caller) -> None:
    """The mean of a Beta(1, 1) posterior, once something is recorded. A failure is no reinforcement."""
    memory = await a_memory(house)
    used = await reinforced(house, memory.id, NEUTRAL)
    failed = await reinforced(house, memory.id, FAILURE)
    helped = await reinforced(house, memory.id, SUCCESS)

    assert not memory.HasField("success_score")
    assert not used.HasField("success_score")
    assert (failed.success_score, failed.reinforcement_count) == (pytest.approx(1 / 3), 1)
    assert (helped.success_score, helped.reinforcement_count) == (pytest.approx(1 / 2), 2)
    assert helped.touched_at.ToDatetime() > memory.touched_at.ToDatetime()


async def test_what_helps_again_and_again_becomes_practice(house: Caller) -> None:
    """The third time makes the habit, and the row says that repetition did."""
    memory = await a_memory(house)
    once = await reinforced(house, memory.id, SUCCESS)
    twice = await reinforced(house, memory.id, SUCCESS)

    assert (once.ring, once.ring_reason) == (FRESH, "")
    assert (twice.ring, twice.ring_reason) == (PRACTICE, "repetition")
    assert twice.ring_set_by == memory_pb2.RING_SETTER_REPETITION


async def test_practice_that_keeps_failing_is_demoted(house: Caller) -> None:
    """After two successes it takes failures until the mean is below 0.3; the row says what did it."""
    memory = await a_memory(house)
    await reinforced(house, memory.id, SUCCESS, times=2)
    still = await reinforced(house, memory.id, FAILURE, times=6)
    demoted = await reinforced(house, memory.id, FAILURE)

    assert (still.ring, still.success_score) == (PRACTICE, pytest.approx(0.3))
    assert (demoted.ring, demoted.ring_reason) == (FRESH, "outcome:failing")
    assert demoted.ring_set_by == memory_pb2.RING_SETTER_OUTCOME


async def test_every_one_of_many_at_once_counts(house: Caller) -> None:
    """Forty-eight at the same moment: twenty-four successes, twenty-four failures, none lost."""
    memory = await a_memory(house)
    await asyncio.gather(
        *(reinforced(house, memory.id, outcome) for _ in range(24) for outcome in (SUCCESS, FAILURE))
    )

    kept = (await house.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory.id))).memory
    assert kept.reinforcement_count == 24
    assert kept.success_score == pytest.approx(25 / 50)


async def test_a_key_counts_once(house: Caller) -> None:
    """Sixteen at once under one key are one; the same key for something else is refused, also in Observe."""
    memory = await a_memory(house)
    answers = await asyncio.gather(*(reinforced(house, memory.id, SUCCESS, key="k") for _ in range(16)))
    other = await a_memory(house, "Another thing.")
    calls = (
        house.memory.Reinforce(
            pb.ReinforceRequest(memory_id=memory.id, outcome=FAILURE, idempotency_key="k")
        ),
        house.memory.Reinforce(pb.ReinforceRequest(memory_id=other.id, outcome=SUCCESS, idempotency_key="k")),
        house.memory.Observe(
            pb.ObserveRequest(
                session_id=memory.session_id, content="Builds need make.", type=INSIGHT, idempotency_key="k"
            )
        ),
    )

    assert {answer.reinforcement_count for answer in answers} == {1}
    assert [await refused(call) for call in calls] == [("ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED", [])] * 3


async def test_nobody_can_be_reinforced(house: Caller) -> None:
    """A memory that is not there, and an outcome that is none."""
    missing = house.memory.Reinforce(pb.ReinforceRequest(memory_id=unknown_id(), outcome=SUCCESS))
    unsaid = house.memory.Reinforce(pb.ReinforceRequest(memory_id=unknown_id()))

    assert await refused(missing) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    assert await refused(unsaid) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["outcome"])


async def test_a_caller_puts_a_memory_into_a_ring(house: Caller) -> None:
    """The row says that the caller did, and what the caller said, without secrets."""
    memory = await a_memory(house)
    said = await promoted(house, memory.id, PROCEDURE, "It is our recipe. password=hunter2hunter2")

    assert (said.ring, said.ring_set_by) == (PROCEDURE, memory_pb2.RING_SETTER_CALLER)
    assert said.ring_note.startswith("It is our recipe.")
    assert "hunter2" not in said.ring_note
    assert not said.HasField("ring_confidence")


async def test_long_term_is_earned(house: Caller) -> None:
    """M7: refused below 0.7, naming score and limit; taken from 0.7 on; left in the call that goes below."""
    memory = await a_memory(house)
    unknown = promoted(house, memory.id, LONG_TERM)
    assert await refused(unknown) == ("FAILED_PRECONDITION", "RING_NOT_EARNED", [])
    await reinforced(house, memory.id, SUCCESS)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await promoted(house, memory.id, LONG_TERM)
    await reinforced(house, memory.id, SUCCESS)
    earned = await promoted(house, memory.id, LONG_TERM)
    lost = await reinforced(house, memory.id, FAILURE)

    assert "0.7" in (caught.value.details() or "")
    assert "0.67" in (caught.value.details() or "")
    assert earned.ring == LONG_TERM
    assert (lost.ring, lost.ring_reason) == (PRACTICE, "outcome:unearned")


async def test_a_shock_is_not_demoted_by_accident(house: Caller) -> None:
    """Failures do not move it, nor does half a confirmation; a confirmation with a reason does."""
    memory = await a_memory(house)
    await promoted(house, memory.id, SHOCK, "It cost us a day.")
    failing = await reinforced(house, memory.id, FAILURE, times=9)
    halves = (
        promoted(house, memory.id, FRESH),
        promoted(house, memory.id, PRACTICE, "It is over."),
        promoted(house, memory.id, PROCEDURE, demote_shock=True),
    )

    assert failing.ring == SHOCK
    assert [await refused(half) for half in halves] == [("FAILED_PRECONDITION", "SHOCK_STAYS", [])] * 3
    out = await promoted(house, memory.id, FRESH, "It was fixed upstream.", demote_shock=True)
    assert (out.ring, out.ring_note) == (FRESH, "It was fixed upstream.")


async def test_a_promotion_that_cannot_be(house: Caller) -> None:
    """Of nothing, to nowhere, with words that are none."""
    memory = await a_memory(house)

    assert await refused(promoted(house, unknown_id(), SHOCK)) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    nowhere = promoted(house, memory.id, memory_pb2.RING_UNSPECIFIED)
    assert await refused(nowhere) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["ring"])
    blank = promoted(house, memory.id, SHOCK, " \t ")
    assert await refused(blank) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["reason"])


async def test_a_relevant_shock_is_never_drowned(house: Caller) -> None:
    """A hundred and twenty memories come closer, and it still comes first, beyond the limit, marked."""
    shock = await a_memory(house, "NEVER run git push --force to main: it destroyed production data.")
    await promoted(house, shock.id, SHOCK, "It cost us a day.")
    noise = [
        pb.Observation(content=f"How to git push a branch, part {number}.", type=INSIGHT)
        for number in range(60)
    ]
    for name in ("a", "b"):
        session = await a_session(house, name)
        await house.memory.ObserveBatch(pb.ObserveBatchRequest(session_id=session, observations=noise))

    answer = await house.memory.Search(pb.SearchRequest(query="how to git push a branch", limit=5))
    elsewhere = await house.memory.Search(pb.SearchRequest(query="what is for lunch?", limit=5))
    only = await house.memory.Search(pb.SearchRequest(query="git push", limit=5, rings=[FRESH]))

    assert [hit.memory_id for hit in answer.hits if hit.ahead] == [shock.id]
    assert (answer.hits[0].memory_id, len(answer.hits)) == (shock.id, 6)
    assert not any(hit.ahead for hit in elsewhere.hits)
    assert shock.id not in [hit.memory_id for hit in only.hits]

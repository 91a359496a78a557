"""Brief through every door: what it says first, what it leaves out, and that it says it again alike."""

from __future__ import annotations

import asyncio
import re

import pytest
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from services.memory.service import SCHEMA
from tests.catalogue.doors import door
from tests.rig.house import Caller

TOPIC = "deploying the payment service"
SEEN = {
    memory_pb2.RING_LONG_TERM: "The payment service is deployed to eu-west first: its traffic is lowest.",
    memory_pb2.RING_PRACTICE: "Always announce a deployment of the payment service in the channel.",
    memory_pb2.RING_PROCEDURE: "Deploy the payment service: run the tests, build, push, apply, watch.",
    memory_pb2.RING_SHOCK: "Deploying the payment service without the lock paid every merchant twice.",
    memory_pb2.RING_FRESH: "Payment service deployed, build 4711.",
}
ORDER = ["shock", "procedure", "practice", "long_term", "z_report"]


async def remember(caller: Caller, ended: bool = True) -> str:
    """Something in every ring, and something else besides."""
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="deploys"))
    session = started.session.id
    kept = await caller.memory.ObserveBatch(
        pb.ObserveBatchRequest(
            session_id=session,
            observations=[
                pb.Observation(
                    content=text,
                    type=memory_pb2.OBSERVATION_TYPE_INSIGHT,
                    outcome=memory_pb2.OUTCOME_SUCCESS,
                )
                for text in (*SEEN.values(), *SEEN.values(), "The canteen serves soup on Mondays.")
            ],
        )
    )
    async with migrations.owner(caller.house.dsn) as connection:
        for ring, memory in [
            *zip(SEEN, kept.memories, strict=False),
            (memory_pb2.RING_SHOCK, kept.memories[-1]),
        ]:
            await connection.execute(
                f"UPDATE {SCHEMA.schema}.memory SET ring = $1, ring_set_by = 2 WHERE id = $2::text::uuid",  # noqa: S608
                ring,
                memory.id,
            )
    if ended:
        await caller.memory.EndSession(pb.EndSessionRequest(session_id=session))
    return session


def kinds(text: str) -> list[str]:
    """What each line of a brief is."""
    return re.findall(r"(?m)^- (\w+) ", text)


@pytest.mark.parametrize("way", ["grpc", "rest", "mcp"])
async def test_a_brief_says_what_matters_in_its_order(house: Caller, way: str) -> None:
    """Shocks, procedures, practices, insights, the last report; nothing fresh, nothing of another topic."""
    session = await remember(house)
    answer = await door(way, house).call("Brief", {"topic": TOPIC})

    assert answer.fine
    text: str = answer.body["text"]
    assert kinds(text) == ORDER
    assert session in text
    assert "4711" not in text.partition("- z_report")[0]
    assert "soup" not in text.partition("- z_report")[0]


async def test_a_brief_keeps_its_budget(house: Caller) -> None:
    """The tightest one still names the shock; a wider one says more."""
    await remember(house)
    tight, wide = await asyncio.gather(
        *(house.memory.Brief(pb.BriefRequest(topic=TOPIC, token_budget=budget)) for budget in (200, 2000))
    )

    assert 0 < tight.tokens <= 200 < wide.tokens <= 2000
    assert kinds(tight.text)[0] == "shock"
    assert tight.entry_count < wide.entry_count == len(ORDER)


async def test_without_a_topic_it_is_what_was_seen_most(house: Caller) -> None:
    """Everything but the fresh, and the newest report; again it is the same to the letter."""
    await remember(house)
    first = await house.memory.Brief(pb.BriefRequest())
    second = await house.memory.Brief(pb.BriefRequest(topic="  "))

    assert first == second
    assert kinds(first.text) == ["shock", *ORDER]


async def test_nothing_known_is_an_empty_brief(house: Caller, neighbor: Caller) -> None:
    """Also where somebody else knows something."""
    await remember(neighbor)

    assert await house.memory.Brief(pb.BriefRequest(topic=TOPIC)) == pb.BriefResponse()
    assert await house.memory.Brief(pb.BriefRequest()) == pb.BriefResponse()


async def test_the_same_brief_again(house: Caller) -> None:
    """Reading it changes nothing about it."""
    await remember(house, ended=False)
    briefs = [await house.memory.Brief(pb.BriefRequest(topic=TOPIC)) for _ in range(3)]

    assert briefs[0].entry_count == 4
    assert briefs == [briefs[0]] * 3


async def test_no_shock_is_drowned_nor_said_twice(house: Caller) -> None:
    """However much of other rings is about the topic, too: each shock comes first, and once."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="many"))
    texts = [f"Deploying the payment service, way {number}: build, push, apply." for number in range(20)]
    texts.append("NEVER deploy the payment service by hand: it destroyed production data.")
    kept = await house.memory.ObserveBatch(
        pb.ObserveBatchRequest(
            session_id=started.session.id,
            observations=[
                pb.Observation(content=text, type=memory_pb2.OBSERVATION_TYPE_INSIGHT) for text in texts
            ],
        )
    )
    for number, memory in enumerate(kept.memories):
        shock = number % 10 == 0
        ring = memory_pb2.RING_SHOCK if shock else memory_pb2.RING_PROCEDURE
        await house.memory.Promote(pb.PromoteRequest(memory_id=memory.id, ring=ring))
    shocks = [memory.id for number, memory in enumerate(kept.memories) if number % 10 == 0]
    for budget in (400, 2000, 8000):
        brief = await house.memory.Brief(pb.BriefRequest(topic=TOPIC, token_budget=budget))
        ids = re.findall(r"(?m)^- \w+ (\S+) ", brief.text)

        assert set(ids[:3]) == set(shocks)
        assert len(set(ids)) == len(ids)


async def test_what_no_longer_holds_is_not_said(house: Caller) -> None:
    """Superseded and deleted memories are in no brief; what is undeleted is again."""
    await remember(house, ended=False)
    listed = (await house.memory.ListMemories(pb.ListMemoriesRequest())).memories
    by_ring = {memory.ring: memory.id for memory in listed if "soup" not in memory.summary}
    old, gone = by_ring[memory_pb2.RING_PRACTICE], by_ring[memory_pb2.RING_PROCEDURE]
    request = pb.SupersedeRequest(memory_id=old, content="Deployments of the payment service need no word.")
    await house.memory.Supersede(request)
    await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=gone))
    texts = [(await house.memory.Brief(pb.BriefRequest(topic=topic))).text for topic in (TOPIC, "")]
    await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=gone))
    again = (await house.memory.Brief(pb.BriefRequest(topic=TOPIC))).text

    assert not [text for text in texts if old in text or gone in text]
    assert gone in again


async def test_a_report_that_became_a_shock_is_said_first_and_once(house: Caller) -> None:
    """It is the memory then, and not the report behind it."""
    session = await remember(house)
    report = (await house.memory.GetZReport(pb.GetZReportRequest(session_id=session))).z_report
    shock = pb.PromoteRequest(memory_id=report.z_report_memory_id, ring=memory_pb2.RING_SHOCK)
    await house.memory.Promote(shock)
    text = (await house.memory.Brief(pb.BriefRequest())).text

    assert f"- shock {report.z_report_memory_id} " in text
    assert "- z_report" not in text

"""Memories that say something new: revised and superseded, through the front door."""

from __future__ import annotations

import asyncio

import grpc
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller, unknown_id
from tests.rig.refusals import refused
from tests.rig.rings import (
    EVERYWHERE,
    FRESH,
    INSIGHT,
    PRACTICE,
    PROCEDURE,
    SHOCK,
    SUCCESS,
    a_memory,
    a_session,
    found_by,
    promoted,
    reads,
    revised,
    superseded,
    versions_of,
)


async def test_a_procedure_is_revised_and_goes_back(house: Caller) -> None:
    """Found by its new words and no longer by its old ones; every version stays readable and can return."""
    first = await a_memory(
        house, "Deploy with the zeppelin script.", tags=["ops"], actor="Mia", outcome=SUCCESS
    )
    second = await revised(house, first.id, "Deploy with the quokka pipeline.")
    new, old = await found_by(house, "quokka pipeline"), await found_by(house, "zeppelin script")
    third = await revised(house, first.id, from_version=1, expected_version=2)
    versions = await versions_of(house, first.id, page_size=1)

    assert (second.id, second.version, second.content) == (first.id, 2, "Deploy with the quokka pipeline.")
    assert (second.tags, second.actor, second.success_score) == (["ops"], "Mia", first.success_score)
    assert (second.essence, second.position) == (second.content, first.position)
    assert (new, old) == ([first.id], [])
    assert (third.version, third.content) == (3, first.content)
    assert await found_by(house, "zeppelin script") == [first.id]
    assert [(one.version, one.content, one.current) for one in versions] == [
        (3, first.content, True),
        (2, second.content, False),
        (1, first.content, False),
    ]


async def test_of_two_revisions_of_one_version_one_wins(house: Caller) -> None:
    """Sixteen at once that expect version 1: one is kept, fifteen are told to read again."""
    memory = await a_memory(house)

    async def one(number: int) -> str:
        try:
            await revised(house, memory.id, f"Content {number}.", expected_version=1)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    answers = sorted(await asyncio.gather(*map(one, range(16))))

    assert answers == ["ABORTED"] * 15 + ["OK"]
    late = revised(house, memory.id, "Late.", expected_version=1)
    assert await refused(late) == ("ABORTED", "CONCURRENT_CHANGE", [])
    assert [one.version for one in await versions_of(house, memory.id)] == [2, 1]


async def test_a_bounded_number_of_versions_is_kept(house: Caller) -> None:
    """The present one and the twenty before it."""
    memory = await a_memory(house)
    for number in range(25):
        await revised(house, memory.id, f"Content {number}.")
    versions = await versions_of(house, memory.id, page_size=6)

    assert [one.version for one in versions] == list(range(26, 5, -1))
    dropped = revised(house, memory.id, from_version=5)
    assert await refused(dropped) == ("NOT_FOUND", "VERSION_NOT_FOUND", [])


async def test_the_same_content_is_no_revision(house: Caller) -> None:
    """A call that is repeated makes one version; another memory's content is refused."""
    memory = await a_memory(house)
    await a_memory(house, "Other.")
    first = await revised(house, memory.id, "Builds need ninja. password=hunter2hunter2")
    again = await revised(house, memory.id, "Builds need ninja. password=hunter2hunter2")
    taken = revised(house, memory.id, "Other.")

    assert "hunter2" not in first.content
    assert first.version == again.version == 2
    assert await refused(taken) == ("ALREADY_EXISTS", "CONTENT_KEPT", [])


async def test_a_revision_that_cannot_be(house: Caller) -> None:
    """Of nothing, to nothing, to two things at once."""
    memory = await a_memory(house)

    assert await refused(revised(house, unknown_id(), "x")) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    for call in (revised(house, memory.id), revised(house, memory.id, "x", from_version=1)):
        assert await refused(call) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["content"])
    nobody = house.memory.ListVersions(pb.ListVersionsRequest(memory_id=unknown_id()))
    assert await refused(nobody) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])


async def test_versions_come_back_and_go_with_their_memory(house: Caller) -> None:
    """Not shown while it is deleted, there again when it is back."""
    memory = await a_memory(house)
    await revised(house, memory.id, "Builds need ninja.")
    await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.id))
    hidden = house.memory.ListVersions(pb.ListVersionsRequest(memory_id=memory.id))
    assert await refused(hidden) == ("NOT_FOUND", "MEMORY_NOT_FOUND", [])
    await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=memory.id))

    assert [one.version for one in await versions_of(house, memory.id)] == [2, 1]


async def test_a_newer_fact_closes_an_older_one(house: Caller) -> None:
    """The older leaves every arm of Search at once, and stays in the timeline with its end."""
    old = await a_memory(house, "Staging runs on zanzibar.", tags=["ops"], aliases=["zz"], actor="Mia")
    answer = await superseded(house, old.id, "Staging runs on quokka.")
    new = answer.memory
    entry = (await house.memory.Timeline(pb.TimelineRequest(memory_ids=[old.id], neighbors=1))).entries[0]

    assert (new.tags, new.actor, new.type, new.session_id) == (["ops"], "Mia", INSIGHT, old.session_id)
    assert answer.superseded.superseded_by == entry.memory.superseded_by == new.id
    assert entry.memory.valid_until == new.valid_from
    assert [near.memory_id for near in entry.neighbors] == [new.id]
    assert await reads(house, old) == EVERYWHERE
    for query in ("Staging runs on zanzibar.", "zanzibar", "zz", "where does staging run?"):
        hits = (await house.memory.Search(pb.SearchRequest(query=query, tags=["ops"]))).hits
        assert [hit.memory_id for hit in hits] == [new.id]
    assert not entry.related or old.id not in [near.memory_id for near in entry.related]


async def test_what_is_superseded_stays_so(house: Caller) -> None:
    """Changing it leads to its successor; the same content is none; only one of many at once succeeds it."""
    memory = await a_memory(house)
    same = superseded(house, memory.id, memory.content)
    assert await refused(same) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["content"])

    async def one(number: int) -> str:
        try:
            return (await superseded(house, memory.id, f"Fact {number}.")).memory.id
        except grpc.aio.AioRpcError as error:
            return error.code().name

    answers = await asyncio.gather(*map(one, range(16)))
    assert answers.count("FAILED_PRECONDITION") == 15
    for call in (
        superseded(house, memory.id, "Another."),
        revised(house, memory.id, "Another."),
        promoted(house, memory.id, SHOCK),
    ):
        assert await refused(call) == ("FAILED_PRECONDITION", "MEMORY_SUPERSEDED", [])
    stats = await house.memory.GetStats(pb.GetStatsRequest())
    assert stats.memory_count == 2


async def test_what_holds_again_is_a_new_memory(house: Caller) -> None:
    """A fact that was superseded and is observed once more is found again."""
    old = await a_memory(house, "Staging runs on zanzibar.")
    new = (await superseded(house, old.id, "Staging runs on quokka.")).memory
    again = await a_memory(house, "Staging runs on zanzibar.")

    assert again.id not in (old.id, new.id)
    assert await found_by(house, "Staging runs on zanzibar.") != []
    assert again.id in await found_by(house, "Staging runs on zanzibar.")


async def test_a_shock_that_is_superseded_stays_a_shock(house: Caller) -> None:
    """And a procedure a procedure; what was earned is earned anew. Also in a session that has ended."""
    rings: list[memory_pb2.Ring] = []
    for number, ring in enumerate((SHOCK, PROCEDURE, PRACTICE)):
        memory = await a_memory(house, f"Thing {number} is so.")
        await promoted(house, memory.id, ring, "Said so.")
        await house.memory.EndSession(pb.EndSessionRequest(session_id=memory.session_id))
        rings.append((await superseded(house, memory.id, f"Thing {number} is otherwise.")).memory.ring)

    assert rings == [SHOCK, PROCEDURE, FRESH]


async def test_a_lost_reply_is_repeated_whatever_became_of_the_memory(house: Caller) -> None:
    """Revised, superseded or brought back: the same key answers the same memory, as it is now."""
    session_id = await a_session(house)
    for number, change in enumerate(("revise", "supersede", "undelete")):
        request = pb.ObserveRequest(
            session_id=session_id, content=f"Fact {number}.", type=INSIGHT, idempotency_key=f"k{number}"
        )
        first = (await house.memory.Observe(request)).memory
        if change == "revise":
            await revised(house, first.id, "Something else.")
        elif change == "supersede":
            await superseded(house, first.id, "The opposite.")
        else:
            await house.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first.id))
            await house.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=first.id))
        again = await house.memory.Observe(request)
        assert (again.memory.id, again.reinforced) == (first.id, False), change
        assert again.memory.reinforcement_count == 0

    # The same words without the key are something new once they are nobody's any more.
    new = await house.memory.Observe(
        pb.ObserveRequest(session_id=session_id, content="Fact 0.", type=INSIGHT)
    )
    old = await house.memory.Observe(
        pb.ObserveRequest(session_id=session_id, content="Fact 0.", type=INSIGHT, idempotency_key="k0")
    )
    assert old.memory.id != new.memory.id

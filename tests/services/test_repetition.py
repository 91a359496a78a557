"""What is observed again in other words, through the front door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import migrations
from tests.rig.house import Caller, House, opened_house, unknown_id
from tests.rig.postgres import Cluster
from tests.rig.refusals import refused
from tests.rig.writing import provider
from tests.unit.memory.test_likeness import DIFFERENT, SAME

SOON = {"TREERING_MEMORY_CURATE_SECONDS": "0.05"}
SECONDS_MAX = 60
NO_CONFLICT = ("NOT_FOUND", "CONFLICT_NOT_FOUND", [])
INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
RESULT = memory_pb2.OBSERVATION_TYPE_TOOL_RESULT
SUCCESS, FAILURE = memory_pb2.OUTCOME_SUCCESS, memory_pb2.OUTCOME_FAILURE
WORDINGS = (
    "Restart the worker after every deploy",
    "After each deploy, restart the worker",
    "please restart the workers after every deployment",
)
names = count()


@pytest.fixture(scope="module")
async def running(cluster: Cluster) -> AsyncGenerator[House]:
    """A house whose curator comes round quickly."""
    async with opened_house(cluster, **SOON) as house:
        yield house


@pytest.fixture
async def person(running: House) -> Caller:
    """Somebody new in it."""
    return await running.caller()


async def session(caller: Caller) -> str:
    """A new session."""
    request = pb.StartSessionRequest(content_session_id=f"s{next(names)}")
    return (await caller.memory.StartSession(request)).session.id


async def seen(caller: Caller, text: str, session_id: str = "", **fields: Any) -> str:
    """The id of what was observed, in a session of its own unless one is named."""
    request = pb.ObserveRequest(
        session_id=session_id or await session(caller), content=text, type=INSIGHT, **fields
    )
    return (await caller.memory.Observe(request)).memory.id


async def looked_at(house: House) -> None:
    """Wait until the curator has looked at everything."""
    async with asyncio.timeout(SECONDS_MAX), migrations.owner(house.dsn) as connection:
        while await connection.fetchval("SELECT count(*) FROM memory.uncurated"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def read(caller: Caller, memory_id: str) -> memory_pb2.Memory:
    """A memory in full."""
    return (await caller.memory.GetMemory(pb.GetMemoryRequest(memory_id=memory_id))).memory


async def conflicts(caller: Caller, **fields: Any) -> list[memory_pb2.Conflict]:
    """The pairs that are reported."""
    return list((await caller.memory.ListConflicts(pb.ListConflictsRequest(**fields))).conflicts)


async def observe_in_turn(house: House, caller: Caller, *texts: str, **fields: Any) -> list[str]:
    """The ids of what was observed, each in a session of its own and looked at before the next."""
    ids: list[str] = []
    for text in texts:
        ids.append(await seen(caller, text, **fields))
        await looked_at(house)
    return ids


async def test_the_third_wording_makes_practice(running: House, person: Caller) -> None:
    """The first is reinforced and found alone; where the others were said stays to be seen."""
    first, second, third = await observe_in_turn(running, person, *WORDINGS)

    kept = await read(person, first)
    assert (kept.reinforcement_count, kept.ring) == (2, memory_pb2.RING_PRACTICE)
    assert (kept.repeats, kept.superseded_by) == (False, "")
    hits = (await person.memory.Search(pb.SearchRequest(query=WORDINGS[1], limit=5))).hits
    assert [hit.memory_id for hit in hits] == [first]
    for memory_id, wording in ((second, WORDINGS[1]), (third, WORDINGS[2])):
        again = await read(person, memory_id)
        assert (again.repeats, again.superseded_by, again.content) == (True, first, wording)
        assert again.session_id != kept.session_id
        assert again.HasField("valid_until")


async def test_another_wording_is_a_repetition(running: House) -> None:
    """All that the rules take for the same stands close enough in meaning, too; in each of many profiles."""
    for caller, pair, (first, second) in await each_observed(running, SAME):
        assert (await read(caller, second)).superseded_by == first, pair
        assert await conflicts(caller) == [], pair


async def test_nothing_that_only_looks_alike_is_swallowed(running: House) -> None:
    """Whichever comes first; both stay, in each of many profiles."""
    for caller, pair, ids in await each_observed(running, [(one, other) for one, other, _ in DIFFERENT]):
        for memory_id in ids:
            memory = await read(caller, memory_id)
            assert (memory.repeats, memory.reinforcement_count, memory.superseded_by) == (False, 0, ""), pair


async def each_observed(
    house: House, pairs: Sequence[tuple[str, str]]
) -> list[tuple[Caller, tuple[str, str], list[str]]]:
    """Profiles that have observed one pair each, and the ids of the two."""
    made: list[tuple[Caller, tuple[str, str], list[str]]] = []
    for pair in pairs:
        caller = await house.caller()
        session_id = await session(caller)
        made.append((caller, pair, [await seen(caller, text, session_id) for text in pair]))
    await looked_at(house)
    return made


async def test_words_of_the_same_meaning(running: House, person: Caller) -> None:
    """A word may be replaced by another one for the same thing, not by one for something like it."""
    doctor, physician = await observe_in_turn(
        running, person, "Speak to the doctor about it", "Speak to the physician about it"
    )
    cat, dog = await observe_in_turn(running, person, "The cat sleeps a lot", "The dog sleeps a lot")

    assert (await read(person, physician)).superseded_by == doctor
    assert not (await read(person, dog)).repeats
    assert (await read(person, cat)).reinforcement_count == 0


async def test_outcomes_count_for_what_is_repeated(running: House, person: Caller) -> None:
    """Successes strengthen, and what keeps failing leaves PRACTICE."""
    first, *_ = await observe_in_turn(running, person, *WORDINGS, outcome=SUCCESS)
    strong = await read(person, first)
    assert (strong.success_score, strong.ring) == (0.8, memory_pb2.RING_PRACTICE)

    again = await seen(person, WORDINGS[1], outcome=FAILURE)
    await looked_at(running)
    weaker = await read(person, first)
    assert weaker.success_score < strong.success_score
    # From now on the same words in that session count at once.
    session_id = (await read(person, again)).session_id
    for _ in range(12):
        await seen(person, WORDINGS[1], session_id, outcome=FAILURE)
    assert (await read(person, first)).ring == memory_pb2.RING_FRESH


async def test_a_lost_reply_is_repeated(running: House, person: Caller) -> None:
    """With its key, and it counts once, also when what it kept was a repetition."""
    first = await seen(person, WORDINGS[0])
    request = pb.ObserveRequest(
        session_id=await session(person), content=WORDINGS[1], type=INSIGHT, idempotency_key="once"
    )
    second = (await person.memory.Observe(request)).memory.id
    await looked_at(running)

    assert (await person.memory.Observe(request)).memory.id == second
    assert (await read(person, second)).superseded_by == first
    assert (await read(person, first)).reinforcement_count == 1


async def test_many_wordings_at_once_leave_one(running: House, person: Caller) -> None:
    """From many sessions at the same moment: one holds, and all others count for it."""
    sessions = [await session(person) for _ in range(12)]
    await asyncio.gather(*(seen(person, WORDINGS[at % 3], one) for at, one in enumerate(sessions)))
    await looked_at(running)

    listed = (await person.memory.ListMemories(pb.ListMemoriesRequest())).memories
    [holds] = [memory for memory in listed if not memory.repeats]
    assert len(listed) == 12
    assert holds.reinforcement_count == 11


async def test_a_report_counts_an_outcome_once(running: House, person: Caller) -> None:
    """Where it was recorded: not for what is repeated as well, nor in the other one's session."""
    one, other = await session(person), await session(person)
    for text, outcome in ((WORDINGS[0], SUCCESS), (WORDINGS[1], SUCCESS), ("Rain fell on the roof", FAILURE)):
        await seen(person, text, one, outcome=outcome)
        await looked_at(running)
    await seen(person, WORDINGS[2], other, outcome=FAILURE)
    await looked_at(running)
    reports = [
        (await person.memory.EndSession(pb.EndSessionRequest(session_id=each))).z_report
        for each in (one, other)
    ]

    counted = [(each.observation_count, each.success_count, each.failure_count) for each in reports]
    assert counted == [(3, 2, 1), (1, 0, 1)]


async def test_a_tool_was_used_as_often_as_it_was_observed(running: House, person: Caller) -> None:
    """Also where one result only said again in other words what another had said."""
    one, tool = await session(person), Struct()
    tool.update({"tool": "runbook"})
    for text in WORDINGS:
        request = pb.ObserveRequest(session_id=one, content=text, type=RESULT, outcome=SUCCESS, metadata=tool)
        await person.memory.Observe(request)
        await looked_at(running)
    report = (await person.memory.EndSession(pb.EndSessionRequest(session_id=one))).z_report

    [used] = report.tools_used
    assert (used.uses, used.successes, report.observation_count) == (3, 3, 3)


async def test_a_repetition_is_found_by_its_labels(running: House, person: Caller) -> None:
    """Whoever looks for its tag, or by its other name, finds what it repeats."""
    first = await seen(person, WORDINGS[0], tags=["ops"])
    await looked_at(running)
    await seen(person, WORDINGS[1], tags=["night"], aliases=["zanzibar"])
    await looked_at(running)
    await seen(person, "Lunch is at noon")

    for request in (
        pb.SearchRequest(query=WORDINGS[0], tags=["night"]),
        pb.SearchRequest(query=WORDINGS[0], tags=["ops"]),
        pb.SearchRequest(query="zanzibar", limit=1),
    ):
        assert [hit.memory_id for hit in (await person.memory.Search(request)).hits] == [first], request


async def test_a_repetition_can_come_to_stand_for_itself(running: House, person: Caller) -> None:
    """Named as the newer wording of what it repeats it is found, and the older one is not."""
    where = await session(person)
    first = await seen(person, WORDINGS[0], where)
    await looked_at(running)
    second = await seen(person, WORDINGS[1], where)
    await looked_at(running)
    newer = await person.memory.Supersede(pb.SupersedeRequest(memory_id=first, content=WORDINGS[1]))
    await looked_at(running)

    assert (newer.memory.id, newer.memory.repeats, newer.memory.superseded_by) == (second, False, "")
    assert (await read(person, first)).superseded_by == second
    hits = (await person.memory.Search(pb.SearchRequest(query="restart the worker"))).hits
    assert [hit.memory_id for hit in hits] == [second]


async def test_a_repetition_outlives_no_delete_and_comes_back_as_one(running: House, person: Caller) -> None:
    """Deleted and brought back it repeats what it did; without what it repeats it is found by nobody."""
    first, second, _ = await observe_in_turn(running, person, *WORDINGS)
    for memory_id in (second, first):
        await person.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory_id))
        back = await person.memory.UndeleteMemory(pb.UndeleteMemoryRequest(memory_id=memory_id))
        assert (back.memory.repeats, back.memory.superseded_by) == (
            memory_id == second,
            first if memory_id == second else "",
        )
    await looked_at(running)
    kept = await read(person, first)
    assert (kept.reinforcement_count, kept.ring) == (2, memory_pb2.RING_PRACTICE)
    await person.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=first))

    assert not (await person.memory.Search(pb.SearchRequest(query=WORDINGS[1]))).hits
    assert (await read(person, second)).superseded_by == first


async def test_what_is_not_held_to_repeat(running: House, person: Caller) -> None:
    """What somebody else said, and what repeats a shock: each stays by itself."""
    first, second = (
        await seen(person, WORDINGS[0], actor="alice"),
        await seen(person, WORDINGS[1], actor="bob"),
    )
    await looked_at(running)
    await person.memory.Promote(pb.PromoteRequest(memory_id=first, ring=memory_pb2.RING_SHOCK))
    third = await seen(person, WORDINGS[2], actor="alice")
    await looked_at(running)

    assert [(await read(person, each)).repeats for each in (second, third)] == [False, False]
    assert (await read(person, first)).reinforcement_count == 0


async def test_contradictions_are_reported(running: House, person: Caller) -> None:
    """Newest first, page by page, until one of a pair holds no more or somebody says that it is none."""
    texts = ("The API listens on port 5432", "The API listens on port 5433", "Never deploy on Fridays")
    older, newer, never = await observe_in_turn(running, person, *texts)
    [friday] = await observe_in_turn(running, person, "Deploy on Fridays")

    [second, first] = await conflicts(person)
    assert (first.newer.id, first.older.id) == (newer, older)
    assert first.kind == memory_pb2.CONFLICT_KIND_NUMBER
    assert 0.75 <= first.similarity <= 1
    assert (second.newer.id, second.older.id) == (friday, never)
    assert second.kind == memory_pb2.CONFLICT_KIND_NEGATION
    page = await person.memory.ListConflicts(pb.ListConflictsRequest(page_size=1))
    assert list(page.conflicts) == [second]
    rest = pb.ListConflictsRequest(page_size=1, page_token=page.next_page_token)
    assert list((await person.memory.ListConflicts(rest)).conflicts) == [first]

    await person.memory.Supersede(pb.SupersedeRequest(memory_id=older, content="The API had port 5432 once"))
    assert await conflicts(person) == [second]
    dismissal = pb.DismissConflictRequest(memory_id=never, other_memory_id=friday)
    for _ in range(2):
        await person.memory.DismissConflict(dismissal)
    assert await conflicts(person) == []


async def test_conflicts_are_nobody_elses(running: House, person: Caller) -> None:
    """Another profile sees none, and cannot tell a foreign pair from none."""
    other = await running.caller()
    older, newer = await observe_in_turn(
        running, person, "The API listens on port 5432", "The API listens on port 5433"
    )

    assert await conflicts(other) == []
    for pair in ((older, newer), (older, unknown_id())):
        request = pb.DismissConflictRequest(memory_id=pair[0], other_memory_id=pair[1])
        assert await refused(other.memory.DismissConflict(request)) == NO_CONFLICT
    assert len(await conflicts(person)) == 1


async def test_what_is_revised_or_deleted_conflicts_no_more(running: House, person: Caller) -> None:
    """And what it says then is looked at anew."""
    older, newer = await observe_in_turn(
        running, person, "The API listens on port 5432", "The API listens on port 5433"
    )
    await person.memory.Revise(pb.ReviseRequest(memory_id=newer, content="The API listens on port 5434"))
    await looked_at(running)
    [pair] = await conflicts(person)
    assert pair.newer.summary == "The API listens on port 5434"
    await person.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=older))
    assert await conflicts(person) == []


async def test_a_language_model_knows_other_words(cluster: Cluster) -> None:
    """Where there is one it is asked about texts that stand close; numbers and names it does not decide."""
    asked: list[str] = []

    def write(system: str, material: str) -> str:
        if "same fact" not in system:
            return ""
        asked.append(material)
        return "same"

    texts = ("Use tabs for indentation", "Indent with tabs")
    async with provider() as writer, opened_house(cluster, **SOON, **writer.settings) as house:
        writer.write = write
        caller = await house.caller()
        first, second = await observe_in_turn(house, caller, *texts)
        await observe_in_turn(house, caller, "The API listens on port 5432", "The API listens on port 5433")

        assert (await read(caller, second)).superseded_by == first
        assert len(asked) == 1
        assert len(await conflicts(caller)) == 1

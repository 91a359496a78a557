"""Runs and results of several profiles in one house: the others' are as if they were not there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import pytest
from google.protobuf.descriptor import FieldDescriptor
from treering.options.v1 import options_pb2
from treering.results.v1 import journal_service_pb2 as journal
from treering.results.v1 import result_pb2, run_pb2
from treering.results.v1 import results_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as run

from services.gateway import rules
from services.gateway.options import said
from tests.catalogue.doors import METHODS, TOOLS, Request, door
from tests.rig.foreign import told
from tests.rig.house import Caller, House, numbers, unknown_id

OFFERED = tuple(f"treering.results.v1.{name}" for name in ("ResultsService", "RunService", "JournalService"))
STREAMED = "PutResultStream"
WAYS = ("grpc", "rest", "mcp")
LISTS = ("ListRuns", "ListSteps", "ListTurns")
OWN_RUN = "<own run>"
GOAL, OUTCOME = "Count the sheep", "There were nine"
NEEDED: Mapping[str, Request] = {
    "PutResult": {"workflow_id": "mine", "task_id": "new", "content": "c"},
    "GetResult": {"workflow_id": "mine", "task_id": "t"},
    "WaitResult": {"workflow_id": "mine", "task_id": "t", "timeout": 0},
    "WatchResults": {"timeout": 0},
    "GetResults": {"workflow_id": "mine", "task_ids": ["t"]},
    "AppendTurn": {"role": "user", "content": "c"},
    "FinishRun": {"run_id": OWN_RUN, "status": "succeeded"},
}
"""What a method needs besides the id."""
CHANGING = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|(?:seconds|nanos|position)\W+\d+"
)
"""Ids, times and numbers that no two results have alike."""


class Case(NamedTuple):
    """A method and one of its fields that takes an id."""

    rpc: str
    field: str

    def request(self, one: str, own_run: str) -> dict[str, Any]:
        """A request for this id."""
        kind = {"kind": "child"} if self.field == "parent_run_id" else {}
        ids = {self.field: [one] if self.field.endswith("s") else one}
        needed = {
            name: own_run if value == OWN_RUN else value for name, value in NEEDED.get(self.rpc, {}).items()
        }
        return {**needed, **kind, **ids}


def takes_id(field: FieldDescriptor) -> bool:
    """Whether it is a UUID, or a name that may stand in a path, which is what callers call runs and tasks."""
    own = rules.of(field)
    text = own.repeated.items.string if field.is_repeated else own.string
    named = said(field.GetOptions(), options_pb2.name) and text.pattern
    return bool(named or text.uuid or field.name == "memory_owner")


CASES = [
    Case(name, field.name)
    for name, method in METHODS.items()
    if method.service in OFFERED and name != STREAMED
    for field in method.takes.fields
    if takes_id(field)
]
TRIES = [(case, way) for case in CASES for way in WAYS if way != "mcp" or case.rpc in TOOLS]


class Neighbor(NamedTuple):
    """Somebody else, what is theirs, and what they had of it at first."""

    caller: Caller
    ids: Mapping[str, Sequence[str]]
    had: Sequence[bytes]


async def holds(caller: Caller, workflows: Sequence[str]) -> list[bytes]:
    """All that somebody has."""
    runs = await caller.runs.ListRuns(run.ListRunsRequest())
    calls: list[Any] = [
        caller.runs.GetRunStatus(run.GetRunStatusRequest(run_id=each.id)) for each in runs.runs
    ]
    for each in workflows:
        calls.append(caller.results.ListTurns(pb.ListTurnsRequest(workflow_id=each)))
        calls.append(caller.results.GetResults(pb.GetResultsRequest(workflow_id=each, last_only=True)))
        calls.append(caller.journal.SearchRuns(journal.SearchRunsRequest(query=each)))
    answers = [runs, *(await asyncio.gather(*calls))]
    return [answer.SerializeToString(deterministic=True) for answer in answers]


async def settled(caller: Caller, name: str) -> Neighbor:
    """Somebody with a run that goes on, and one that has ended, each with a result and a turn."""
    workflows, tasks, runs = [f"{name} open", f"{name} ended"], [f"{name} task"], list[str]()
    for each in workflows:
        started = await caller.runs.StartRun(run.StartRunRequest(workflow_id=each, goal=GOAL))
        runs.append(started.run.id)
        await put(caller, each, tasks[0])
        await caller.results.AppendTurn(pb.AppendTurnRequest(workflow_id=each, role="user", content="hi"))
    finish = run.FinishRunRequest(run_id=runs[1], status=run_pb2.STATUS_SUCCEEDED, outcome=OUTCOME)
    await caller.runs.FinishRun(finish)
    ids = {
        "workflow_id": workflows,
        "task_id": tasks,
        "task_ids": tasks,
        "final_task_id": tasks,
        "run_id": runs,
        "parent_run_id": runs,
        "memory_owner": [caller.profile_id],
    }
    return Neighbor(caller, ids, await holds(caller, workflows))


async def put(caller: Caller, workflow_id: str, task_id: str) -> result_pb2.Step:
    """A result."""
    request = pb.PutResultRequest(workflow_id=workflow_id, task_id=task_id, content="c")
    return (await caller.results.PutResult(request)).step


@pytest.fixture(scope="module")
async def others(house_site: House) -> list[Neighbor]:
    """One in the workspace, one in another workspace of the same owner, and one of another owner."""
    places = (("isolation", "w"), ("isolation", "another w"), ("another isolation", "w"))
    return [
        await settled(await house_site.caller(owner=owner, workspace=workspace, profile="theirs"), f"n{at}")
        for at, (owner, workspace) in enumerate(places)
    ]


@pytest.fixture
async def me(house_site: House) -> Caller:
    """Whoever asks: in the workspace of the first of the others."""
    profile = f"mine {next(numbers)}"
    return await house_site.caller(owner="isolation", workspace="w", profile=profile)


def test_every_id_is_tried(others: list[Neighbor]) -> None:
    """A field that takes an id and is not among those of the others would be tried by nobody."""
    assert {case.field for case in CASES} == set(others[0].ids)


@pytest.mark.parametrize(("case", "way"), TRIES, ids=lambda each: each if each in WAYS else ".".join(each))
async def test_a_foreign_id_is_like_none(others: list[Neighbor], me: Caller, case: Case, way: str) -> None:
    """Over every door the answer is that of one that nobody has, and nothing changes for the others.

    Where a name is free to be taken, one that somebody else has taken is free as well.
    """
    own = (await me.runs.StartRun(run.StartRunRequest(workflow_id="mine"))).run.id
    await put(me, "mine", "t")

    async def answered(one: str) -> str:
        said = await told(me, way, case.rpc, case.request(one, own), one)
        return CHANGING.sub("<…>", said)

    nothing = await answered(unknown_id())
    foreign = [await answered(one) for other in others for one in other.ids[case.field]]

    assert "INVALID_FIELD" not in nothing
    assert foreign == [nothing] * len(foreign)
    now = await asyncio.gather(*(holds(other.caller, other.ids["workflow_id"]) for other in others))
    assert now == [other.had for other in others]


async def test_a_stream_goes_into_ones_own_run(others: list[Neighbor], me: Caller) -> None:
    """With the ids of another's result it is put beside it, and neither is seen by the other."""
    content = b"mine"
    for other in others:
        workflow_id, task_id = other.ids["workflow_id"][0], other.ids["task_id"][0]
        header = pb.PutResultStreamHeader(
            workflow_id=workflow_id, task_id=task_id, sha256=sha256(content).hexdigest()
        )

        async def pieces(
            header: pb.PutResultStreamHeader = header,
        ) -> AsyncIterator[pb.PutResultStreamRequest]:
            yield pb.PutResultStreamRequest(header=header)
            yield pb.PutResultStreamRequest(chunk=content)

        metadata = (("authorization", f"Bearer {me.secret}"),)
        step = (await me.results.PutResultStream(pieces(), metadata=metadata)).step
        assert (step.position, step.size_bytes) == (1, len(content))
        assert step.run_id not in other.ids["run_id"]
        assert await holds(other.caller, other.ids["workflow_id"]) == other.had


async def test_lists_hold_ones_own_only(others: list[Neighbor], me: Caller) -> None:
    """Whoever has nothing is shown nothing, whatever the others have."""
    assert others
    assert not (await me.runs.ListRuns(run.ListRunsRequest())).runs
    step = await put(me, "mine", "t")
    assert [each.id for each in (await me.runs.ListRuns(run.ListRunsRequest())).runs] == [step.run_id]


@pytest.mark.parametrize("way", WAYS)
async def test_a_search_finds_ones_own_runs_only(others: list[Neighbor], me: Caller, way: str) -> None:
    """By every word that the others' journals have, until one's own has it."""
    finished = run_pb2.STATUS_SUCCEEDED
    for query in (GOAL, OUTCOME, *others[0].ids["workflow_id"]):
        asked = {"query": query, "order": "newest"}
        theirs = await door(way, others[0].caller).call("SearchRuns", asked)
        nothing = await door(way, me).call("SearchRuns", {**asked, "query": "nobody's"})

        assert [hit["run_id"] for hit in theirs.body["hits"]] == [others[0].ids["run_id"][1]]
        assert await door(way, me).call("SearchRuns", asked) == nothing

    own = (await me.runs.StartRun(run.StartRunRequest(workflow_id="mine", goal=GOAL))).run.id
    await me.runs.FinishRun(run.FinishRunRequest(run_id=own, status=finished, outcome=OUTCOME))
    mine = await door(way, me).call("SearchRuns", {"query": f"{GOAL} {OUTCOME}"})
    assert [hit["run_id"] for hit in mine.body["hits"]] == [own]


@pytest.mark.parametrize(
    ("rpc", "way"), [(rpc, way) for rpc in LISTS for way in WAYS if way != "mcp" or rpc in TOOLS]
)
async def test_a_page_token_is_its_owners(me: Caller, neighbor: Caller, rpc: str, way: str) -> None:
    """Another profile's token is refused as one that was made up is; its owner goes on with it."""
    for caller in (me, neighbor):
        for number in range(2):
            await put(caller, "w", f"t{number}")
            await put(caller, f"w{number}", "t")
            turn = pb.AppendTurnRequest(workflow_id="w", role="user", content=str(number))
            await caller.results.AppendTurn(turn)
    asked = {"page_size": 1} if rpc == "ListRuns" else {"page_size": 1, "workflow_id": "w"}
    token = (await door(way, neighbor).call(rpc, asked)).body["next_page_token"]
    theirs = await door(way, me).call(rpc, {**asked, "page_token": token})
    made_up = await door(way, me).call(rpc, {**asked, "page_token": "A" * len(token)})

    assert theirs.reason == "INVALID_PAGE_TOKEN"
    assert theirs == made_up
    assert (await door(way, neighbor).call(rpc, {**asked, "page_token": token})).fine

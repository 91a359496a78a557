"""JournalService through the front door."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from treering.results.v1 import journal_pb2, run_pb2
from treering.results.v1 import journal_service_pb2 as pb
from treering.results.v1 import run_service_pb2 as runs_pb

from tests.rig.answers import problem
from tests.rig.house import Caller, unknown_id
from tests.rig.refusals import refused

NO_RUN = ("NOT_FOUND", "RUN_NOT_FOUND", [])
NO_QUERY = "query is required for search_runs"
NO_RUN_ID = "run_id is required for get_run"
SUCCEEDED, FAILED = run_pb2.STATUS_SUCCEEDED, run_pb2.STATUS_FAILED
MISSION, SCHEDULED, HEARTBEAT, SYSTEM, CHILD = range(1, 6)
FOUND = (
    ("the wrong-book case", "wrong-book"),
    ("the wrong-book case", "foo OR wrong-book"),
    ("POL-358 was closed", "pol-358"),
    ("the tool chat-send broke", '"chat-send"'),
    ("le café du coin", "cafe"),
    ("the cafe at the corner", "café"),
    ("整理错题本并复习", "错题本"),
    ("fixes #123 for good", "#123"),
    ("edited src/main.py twice", "src/main.py"),
    ("we don't retry", "don't"),
    ("we don't retry", "We Don't"),
    ("50% of them passed", "50%"),
    ("write to a@b.c about it", "a@b.c"),
    ("its name is ‘so’, of all", "so"),
    ("Überprüfung der Straße", "uberprufung"),
    ("C++ and F# bindings", "F#"),
    ("выпуск версии 2.3.1", "версия"),
    ("prozess läuft", "Prozess"),
    ("released v2.3.1", "2.3.1"),
    ("a glob of * everywhere", "*"),
)
"""What is written, and what is looked for."""
ODD = (
    '"unbalanced', "AND", "NOT", "*", "%", "'", "--", "a" * 5_000, "word " * 20_000, "(((", "x:y", "\\",
    "NEAR/3", "{}[]", "'; DROP TABLE results.episode; --", "\U0001f98a", "\ufffd", "a\tb\nc", ".*", "^$",
)  # fmt: skip


async def ran(caller: Caller, goal: str, outcome: str = "", kind: Any = MISSION, **fields: Any) -> str:
    """The id of a run that was finished."""
    status = fields.pop("status", SUCCEEDED)
    started = await caller.runs.StartRun(runs_pb.StartRunRequest(goal=goal, kind=kind, **fields))
    await caller.runs.FinishRun(
        runs_pb.FinishRunRequest(run_id=started.run.id, status=status, outcome=outcome)
    )
    return started.run.id


async def found(caller: Caller, query: str, **fields: Any) -> list[journal_pb2.JournalHit]:
    """The hits of a search."""
    return list((await caller.journal.SearchRuns(pb.SearchRunsRequest(query=query, **fields))).hits)


async def ids(caller: Caller, query: str, **fields: Any) -> list[str]:
    """The runs that a search finds."""
    return [hit.run_id for hit in await found(caller, query, **fields)]


async def test_a_finished_run_is_found_and_read(house: Caller) -> None:
    """By its goal, its outcome and its workflow id; what is told of it is what was written."""
    run_id = await ran(
        house, "Compare competitors", "Three are cheaper.", status=FAILED, workflow_id="acme-q3"
    )
    await ran(house, "Water the plants")

    for query in ("competitor", "cheaper", "acme-q3", "acme"):
        [hit] = await found(house, query)
        assert (hit.run_id, hit.workflow_id, hit.kind, hit.status) == (run_id, "acme-q3", MISSION, FAILED)
        assert (hit.goal, hit.snippet) == ("Compare competitors", "Compare competitors\nThree are cheaper.")
        assert hit.score > 0
    episode = (await house.journal.GetRun(pb.GetRunRequest(run_id=run_id))).episode
    assert (episode.goal, episode.outcome) == ("Compare competitors", "Three are cheaper.")
    assert (episode.run_id, episode.workflow_id, episode.status) == (run_id, "acme-q3", FAILED)
    assert episode.ended_at == hit.ended_at


@pytest.mark.parametrize(("written", "query"), FOUND)
async def test_what_was_written_is_found(house: Caller, written: str, query: str) -> None:
    """Hyphens, numbers with a hash, paths, addresses, quotes, other scripts, accents, small words."""
    run_id = await ran(house, written)
    await ran(house, "nothing alike")

    assert await ids(house, query) == [run_id]


@pytest.mark.parametrize("query", ODD, ids=lambda query: repr(query)[:20])
async def test_every_query_is_answered(house_site: Any, query: str, shared: Caller) -> None:
    """Whatever is in it, nothing in it is an operator and nothing fails."""
    assert await ids(shared, query) == []


@pytest.fixture(scope="module")
async def shared(house_site: Any) -> Caller:
    """A profile with one episode."""
    caller = await house_site.caller()
    await ran(caller, "Count sheep", "There were nine.")
    return caller


async def test_missing_arguments_are_named(house: Caller) -> None:
    """In the words of the documented clients, over every door."""
    for query in ("", "  ", "\u3000\u200b"):
        assert await refused(found(house, query)) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["query"])
        answer = await house.http.get("/v1/runs:search", params={"query": query})
        assert NO_QUERY in problem(answer, 400, "INVALID_FIELD")["detail"]
    missing = await house.http.get("/v1/runs:search")
    assert problem(missing, 400, "INVALID_FIELD")["detail"] == f"query: {NO_QUERY}"
    reading = house.journal.GetRun(pb.GetRunRequest())
    assert await refused(reading) == ("INVALID_ARGUMENT", "INVALID_FIELD", ["run_id"])
    assert NO_QUERY in await told(house, "run_search")
    assert NO_QUERY in await told(house, "run_search", query=" ")
    assert NO_RUN_ID in await told(house, "run_get")
    assert NO_RUN_ID in await told(house, "run_get", run_id="")


async def told(house: Caller, tool: str, **arguments: str) -> str:
    """What a refused tool call says."""
    params = {"name": tool, "arguments": arguments}
    answer = await house.http.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream"},
    )
    return answer.text


async def test_what_is_not_in_the_journal(house: Caller, neighbor: Caller) -> None:
    """A run that goes on or was cancelled, somebody else's and none at all are one to a reader."""
    going = (await house.runs.StartRun(runs_pb.StartRunRequest(goal="unfinished sheep"))).run.id
    cancelled = (await house.runs.StartRun(runs_pb.StartRunRequest(goal="cancelled sheep"))).run.id
    await house.runs.CancelRun(runs_pb.CancelRunRequest(run_id=cancelled))
    foreign = await ran(neighbor, "somebody's sheep")

    assert await ids(house, "sheep") == []
    for run_id in (going, cancelled, foreign, unknown_id()):
        assert await refused(house.journal.GetRun(pb.GetRunRequest(run_id=run_id))) == NO_RUN


async def test_kinds_and_orders(house: Caller) -> None:
    """Missions come before scheduled runs, the rest only when asked for; by time without such a rank."""
    parent = (await house.runs.StartRun(runs_pb.StartRunRequest())).run.id
    scheduled = await ran(house, "sheep sheep sheep", kind=SCHEDULED)
    mission = await ran(house, "one sheep, and many words about something else that nobody asks for")
    better = await ran(house, "sheep")
    others = [await ran(house, "sheep", kind=kind) for kind in (HEARTBEAT, SYSTEM)]
    child = await ran(house, "sheep", kind=CHILD, parent_run_id=parent)

    assert await ids(house, "sheep") == [better, mission, scheduled]
    assert await ids(house, "sheep", order="JOURNAL_ORDER_NEWEST") == [better, mission, scheduled]
    assert await ids(house, "sheep", order="JOURNAL_ORDER_OLDEST") == [scheduled, mission, better]
    assert await ids(house, "sheep", kinds=[CHILD]) == [child]
    assert set(await ids(house, "sheep", kinds=[HEARTBEAT, SYSTEM])) == set(others)
    every = await ids(house, "sheep", kinds=[1, 2, 3, 4, 5])
    assert every[:2] == [better, mission]
    assert len(every) == 6


async def test_a_limit_and_rarer_words(house: Caller) -> None:
    """Ten by default and fifty at most; who has the rare word comes first."""
    wanted = await ran(house, "sheep in Zanzibar")
    await asyncio.gather(*[ran(house, f"sheep number {number}") for number in range(52)])

    assert (await ids(house, "sheep of Zanzibar"))[0] == wanted
    assert len(await ids(house, "sheep")) == 10
    assert len(await ids(house, "sheep", limit=3)) == 3
    assert len(await ids(house, "sheep", limit=4_000_000_000)) == 50


async def test_long_episodes_show_where_they_match(house: Caller) -> None:
    """Goal and snippet are cut, around what was looked for; the whole is read by its id."""
    filler = "Nothing of interest happened on this day. " * 200
    run_id = await ran(house, "Keep a diary. " * 100, f"{filler}Then a comet fell into the sea. {filler}")

    [hit] = await found(house, "comets")
    assert "a comet fell into the sea" in hit.snippet
    assert (hit.snippet[0], hit.snippet[-1], hit.goal[-1]) == ("…", "…", "…")
    assert max(len(hit.snippet), len(hit.goal)) <= 300
    episode = (await house.journal.GetRun(pb.GetRunRequest(run_id=run_id))).episode
    assert episode.outcome.count("comet") == 1
    assert len(episode.outcome) > 16_000


async def test_an_episode_outlives_its_run(house: Caller) -> None:
    """The run expires with its results; the journal keeps what it came to."""
    run_id = await ran(house, "a short sheep", "It ran away.", ttl_seconds=1)
    await asyncio.sleep(1.05)

    status = house.runs.GetRunStatus(runs_pb.GetRunStatusRequest(run_id=run_id))
    assert await refused(status) == NO_RUN
    assert await ids(house, "sheep") == [run_id]
    assert (await house.journal.GetRun(pb.GetRunRequest(run_id=run_id))).episode.outcome == "It ran away."


async def test_a_run_is_in_the_journal_once(house: Caller) -> None:
    """However often and from however many sides it is finished."""
    started = await house.runs.StartRun(runs_pb.StartRunRequest(goal="sheep at once"))
    finish = runs_pb.FinishRunRequest(run_id=started.run.id, status=SUCCEEDED, outcome="sheep")
    await asyncio.gather(*[house.runs.FinishRun(finish) for _ in range(16)])

    assert await ids(house, "sheep") == [started.run.id]

"""Words that people wrote, looked for wherever the house leaves bytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from treering.access.v1 import access_service_pb2 as access_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb
from treering.results.v1 import results_service_pb2 as results_pb
from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as runs_pb

from libs.data import binaries
from libs.language.lexemes import Lexer
from tests.rig.agents import Agent
from tests.rig.process import Premises

WORDS = {
    "content": "Zarquellings",
    "tag": "Tagglorbing",
    "alias": "Aliavorting",
    "actor": "Actowrickson",
    "metadata": "Metaquizzles",
    "session": "Sessovarking",
    "agent": "Agentrolving",
    "owner": "Ownzeppling",
    "workspace": "Worksquelling",
    "profile": "Profinkering",
    "key": "Keyjaxtering",
    "query": "Queryfloxing",
    "idempotency": "Idempozingly",
    "refused": "Refuxinately",
    "workflow": "Workflozzing",
    "task": "Taskequorling",
    "result": "Resulvantizes",
    "error": "Errozapfling",
    "goal": "Goalumpering",
    "outcome": "Outcovexling",
    "role": "Rolequintly",
    "turn": "Turnazzling",
}
"""Each stands for what a field holds, and nowhere else in the world."""
INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
PASSWORD = "ghp_" + "qZ7xW2vK9mP4" * 3
"""A secret within an observation: not even sealed, but removed."""
SECRET_CHARS = 40
"""The end of a key that is looked for."""
KEY_ID_ENDS = len("tr_") + 12 + len("_")
"""Of an API key, the id is no secret: logs tell who called."""


@dataclass(frozen=True)
class Written:
    """Where the words were written, and with what."""

    house: Premises
    secret: str
    dump: bytes


@pytest.fixture(scope="module")
def written(premises: Premises) -> Written:
    """Every word was written, read, searched and refused, over every door; then the database was dumped."""
    premises.open()
    with premises.agent() as admin:
        names = {name: WORDS[name] for name in ("owner", "workspace", "profile")}
        profile = admin.access.CreateProfile(access_pb.CreateProfileRequest(**names)).profile
        request = access_pb.CreateKeyRequest(profile_id=profile.id, name=WORDS["key"])
        secret: str = admin.access.CreateKey(request).secret
    with premises.agent(secret) as agent:
        session = over_grpc(agent.memory)
        a_run(agent)
    with premises.rest(secret) as rest:
        over_rest(rest, session)
        over_mcp(rest, session)
    return Written(premises, secret, dumped(premises))


def over_grpc(memory: Any) -> str:
    """Everything that an observation can hold, found again, ended, and refused. Answers an open session."""
    session = memory.StartSession(
        pb.StartSessionRequest(content_session_id=WORDS["session"], agent_id=WORDS["agent"])
    ).session.id
    observation = pb.ObserveRequest(
        session_id=session,
        content=f"{WORDS['content']} were seen, with {PASSWORD}",
        type=memory_pb2.OBSERVATION_TYPE_DECISION,
        actor=WORDS["actor"],
        tags=[WORDS["tag"]],
        aliases=[WORDS["alias"]],
        metadata=structured(WORDS["metadata"]),
        idempotency_key=WORDS["idempotency"],
    )
    kept = memory.Observe(observation).memory
    assert kept.secrets_removed == 1
    memory.ObserveBatch(
        pb.ObserveBatchRequest(
            session_id=session,
            observations=[pb.Observation(content=f"{WORDS['content']} again", type=INSIGHT)],
        )
    )
    found = memory.Search(
        pb.SearchRequest(
            query=f"{WORDS['query']} {WORDS['content']}", actor=WORDS["actor"], tags=[WORDS["tag"]]
        )
    )
    assert found.hits[0].memory_id == kept.id
    memory.Timeline(pb.TimelineRequest(memory_ids=[kept.id]))
    for call in refused_calls(memory, session, observation):
        with pytest.raises(grpc.RpcError):
            call()
    memory.EndSession(pb.EndSessionRequest(session_id=session))
    return memory.StartSession(pb.StartSessionRequest(content_session_id=WORDS["session"])).session.id


def a_run(agent: Agent) -> None:
    """Everything that a run can hold, finished and read again."""
    workflow, goal = WORDS["workflow"], WORDS["goal"]
    started = agent.runs.StartRun(runs_pb.StartRunRequest(workflow_id=workflow, goal=goal)).run
    put = results_pb.PutResultRequest(
        workflow_id=workflow,
        task_id=WORDS["task"],
        content=WORDS["result"],
        status=run_pb2.STATUS_FAILED,
        error=WORDS["error"],
    )
    agent.results.PutResult(put)
    agent.results.AppendTurn(
        results_pb.AppendTurnRequest(workflow_id=workflow, role=WORDS["role"], content=WORDS["turn"])
    )
    agent.runs.FinishRun(
        runs_pb.FinishRunRequest(run_id=started.id, status=run_pb2.STATUS_SUCCEEDED, outcome=WORDS["outcome"])
    )
    final = agent.results.GetResult(results_pb.GetResultRequest(workflow_id=workflow)).result
    assert WORDS["turn"] in final.content


def refused_calls(memory: Any, session: str, observation: pb.ObserveRequest) -> Iterator[Any]:
    """Calls that are refused with a word in what was wrong."""
    word = WORDS["refused"]
    yield lambda: memory.Observe(pb.ObserveRequest(session_id=session, content=f"{word}\0", type=INSIGHT))
    yield lambda: memory.Observe(pb.ObserveRequest(session_id=word, content=word, type=INSIGHT))
    yield lambda: memory.Search(pb.SearchRequest(query=word, tags=[f"{word}\0"]))
    yield lambda: memory.ListMemories(pb.ListMemoriesRequest(page_token=word))
    other = pb.ObserveRequest()
    other.CopyFrom(observation)
    other.content = word
    yield lambda: memory.Observe(other)


def over_rest(rest: Any, session: str) -> None:
    """In bodies, paths, queries and headers, of requests that are served and that are not."""
    word = WORDS["refused"]
    observation = {"session_id": session, "content": WORDS["content"], "type": "insight"}
    assert rest.post("/v1/observations", json=observation).status_code == 200
    assert rest.post("/v1/memories:search", json={"query": WORDS["query"]}).status_code == 200
    answers = [
        rest.post("/v1/observations", json=observation | {word: word}),
        rest.post("/v1/observations", json=observation | {"type": word}),
        rest.post(
            "/v1/observations", content=f'{{"content": "{word}', headers={"content-type": "application/json"}
        ),
        rest.post("/v1/observations", content=word, headers={"content-type": word}),
        rest.get(f"/v1/memories/{word}"),
        rest.get(f"/v1/{word}"),
        rest.get("/v1/memories", params={word: word}),
        rest.get("/v1/stats", headers={"authorization": f"Bearer {word}"}),
        rest.request(word.upper(), "/v1/stats"),
    ]
    assert all(400 <= answer.status_code < 500 for answer in answers), answers


def over_mcp(rest: Any, session: str) -> None:
    """As tools' names and arguments, good and bad."""
    word = WORDS["refused"]
    for name, arguments in (
        ("memory_search", {"query": WORDS["query"]}),
        (
            "memory_observe",
            {"session_id": session, "content": f"{WORDS['content']} by tool", "type": "insight"},
        ),
        ("memory_observe", {"session_id": session, "content": word, "type": word}),
        ("memory_get", {"memory_ids": [word]}),
        (word, {}),
    ):
        called = {"name": name, "arguments": arguments}
        rest.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called},
            headers={"accept": "application/json, text/event-stream"},
        )


def structured(word: str) -> Struct:
    """An object with the word as name and as value."""
    made = Struct()
    made.update({word: [word, {"deep": word}]})
    return made


def dumped(house: Premises) -> bytes:
    """The whole database as SQL."""
    program = binaries.find().bin / "pg_dump"
    told = subprocess.run([program, f"--dbname={house.dsn}"], capture_output=True, check=True, env={})
    assert b"COPY memory.memory" in told.stdout
    return told.stdout


def shapes(written: Written) -> dict[str, set[bytes]]:
    """What to look for: words folded and as their stems, keys and passwords, and the digits of all these."""
    lexer = Lexer()
    texts = {name: {word, word.casefold(), *lexer.terms(word)} for name, word in WORDS.items()}
    texts |= {"secret": {written.secret[KEY_ID_ENDS:]}, "password": {PASSWORD}}
    return {
        name: {shape for text in forms for shape in (text.lower().encode(), text.encode().hex().encode())}
        for name, forms in texts.items()
    }


def held(content: bytes, looked_for: dict[str, set[bytes]]) -> list[str]:
    """Which of these some bytes hold."""
    small = content.lower()
    return [name for name, forms in looked_for.items() if any(form in small for form in forms)]


def files_of(house: Premises) -> Iterator[Path]:
    """All files of the house: its logs, its database with its journal, and what else there is."""
    for directory, _, names in os.walk(house.directory, followlinks=True):
        yield from (Path(directory) / name for name in names if not name.startswith(".s.PGSQL"))


def test_a_dump_holds_no_word(written: Written) -> None:
    """Neither as written nor folded, stemmed or as the bytes of a column; no key either."""
    assert held(written.dump, shapes(written)) == []


def test_no_file_holds_a_word(written: Written) -> None:
    """Not the logs of house and Postgres, not a table, an index or the journal."""
    looked_for = shapes(written)
    found: dict[str, list[str]] = {}
    for path in files_of(written.house):
        with suppress(FileNotFoundError):  # Postgres recycles files of its journal
            if holds := held(path.read_bytes(), looked_for):
                found[path.name] = holds

    assert found == {}


def test_keys_stand_in_their_files_only(written: Written) -> None:
    """The first key and the master key are each in the one file that is for it, and in no log."""
    for name in ("api-key", "master-key"):
        secret = (written.house.home / name).read_text().strip()[-SECRET_CHARS:].lower().encode()
        assert secret not in written.dump.lower()
        with_it = [path.name for path in files_of(written.house) if secret in path.read_bytes().lower()]
        assert with_it == [name]


def test_the_log_tells_of_every_call(written: Written) -> None:
    """Its silence about words is not silence: what was served and refused is there, by its request's id."""
    told = written.house.log.read_text()

    for seen in (
        "MemoryService/Observe",
        "MemoryService/Search",
        "/v1/memories:search",
        "/mcp",
        "INVALID_ARGUMENT",
    ):
        assert seen in told

"""Profiles that have done something of everything, and what the house holds of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.decay.v1 import decay_service_pb2 as decay_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb
from treering.results.v1 import results_service_pb2 as results_pb
from treering.results.v1 import run_pb2
from treering.results.v1 import run_service_pb2 as run_pb

from libs.data import checks, migrations
from services.roster import ROLES
from tests.rig.house import Caller

LONG = "A long value. " * 1_000
"""Lists leave it out."""
PART_BYTES = 1_048_576
TYPE = memory_pb2.OBSERVATION_TYPE_DECISION


@dataclass(frozen=True)
class Life:
    """A profile, and the words that are in everything it has written."""

    caller: Caller
    word: str


async def lived(caller: Caller, word: str = "harbour") -> Life:
    """Fill every table: sessions open and ended, memories with all there is to one, entries, runs."""
    memory, clipboard = caller.memory, caller.clipboard
    for name in ("ended", "open"):
        request = pb.StartSessionRequest(content_session_id=f"{word} {name}", agent_id=f"{word} bot")
        session = (await memory.StartSession(request)).session.id
        for number in range(3):
            await memory.Observe(observation(session, f"{word} {name} {number}", number))
        if name == "ended":
            await memory.EndSession(pb.EndSessionRequest(session_id=session))
        else:
            await changed(caller, session, word)
    await clipboard.Set(clipboard_pb.SetRequest(name=f"{word} note", value=word, created_by_tool=word))
    await clipboard.Set(clipboard_pb.SetRequest(name=f"{word} book", value=f"{word} {LONG}"))
    for number in range(3):
        request = clipboard_pb.PushRequest(value=f"{word} {number}", idempotency_key=f"{word} {number}")
        await clipboard.Push(request)
    await clipboard.Pop(clipboard_pb.PopRequest(idempotency_key=f"{word} pop"))
    await run_through(caller, word)
    await caller.decay.Sweep(decay_pb.SweepRequest())
    return Life(caller, word)


async def changed(caller: Caller, session: str, word: str) -> None:
    """A memory that was revised, one that was superseded, and one that was deleted for the time being."""
    made = [
        (await caller.memory.Observe(observation(session, f"{word} changed {number}", number))).memory.id
        for number in range(3)
    ]
    await caller.memory.Revise(pb.ReviseRequest(memory_id=made[0], content=f"{word} revised"))
    await caller.memory.Supersede(pb.SupersedeRequest(memory_id=made[1], content=f"{word} superseded"))
    await caller.memory.DeleteMemory(pb.DeleteMemoryRequest(memory_id=made[2]))


async def run_through(caller: Caller, word: str) -> None:
    """A finished run with a result and a streamed one, a conversation, and a stream that came to nothing."""
    started = await caller.runs.StartRun(run_pb.StartRunRequest(workflow_id=f"{word} run", goal=word))
    results, workflow = caller.results, f"{word} run"
    put = results_pb.PutResultRequest(workflow_id=workflow, task_id=f"{word} task", content=word)
    await results.PutResult(put)
    content = f"{word} ".encode() * (2 * PART_BYTES // (len(word) + 1))
    shown = [("authorization", f"Bearer {caller.secret}")]
    streamed = pieces(workflow, f"{word} streamed", content, sha256(content).hexdigest())
    await results.PutResultStream(streamed, metadata=shown)
    with pytest.raises(grpc.aio.AioRpcError):
        await results.PutResultStream(pieces(workflow, f"{word} left", content, "0" * 64), metadata=shown)
    for role in ("user", "assistant"):
        turn = results_pb.AppendTurnRequest(workflow_id=f"{word} talk", role=role, content=f"{word} {role}")
        await results.AppendTurn(turn)
    status = run_pb2.STATUS_SUCCEEDED
    await caller.runs.FinishRun(
        run_pb.FinishRunRequest(run_id=started.run.id, status=status, outcome=f"{word} came of it")
    )


def pieces(
    workflow: str, task: str, content: bytes, digest: str
) -> Iterator[results_pb.PutResultStreamRequest]:
    """A result as a stream."""
    header = results_pb.PutResultStreamHeader(workflow_id=workflow, task_id=task, sha256=digest)
    yield results_pb.PutResultStreamRequest(header=header)
    for start in range(0, len(content), PART_BYTES):
        yield results_pb.PutResultStreamRequest(chunk=content[start : start + PART_BYTES])


def observation(session: str, text: str, number: int) -> pb.ObserveRequest:
    """Something observed, with all that there can be to it."""
    metadata = Struct()
    metadata.update({"tool": text})
    return pb.ObserveRequest(
        session_id=session,
        content=f"{text} was decided, and more than a summary holds: {'the crane lifts containers. ' * 80}",
        type=TYPE,
        outcome=memory_pb2.OUTCOME_SUCCESS,
        actor=f"{text} actor",
        tags=[f"{text} tag"],
        aliases=[f"{text} alias"],
        metadata=metadata,
        idempotency_key=f"{text} {number}",
    )


async def holdings(dsn: str, profile_id: str) -> dict[str, int]:
    """How many rows each table of every role holds of a profile, read as no policy can stop it."""
    counted: dict[str, int] = {}
    count = "SELECT count(*) FROM {} WHERE profile_id = $1"
    async with migrations.owner(dsn) as connection:
        for entry in ROLES.values():
            for table in await checks.profile_tables(connection, entry.schema.schema):
                counted[table] = await connection.fetchval(count.format(table), profile_id) or 0
    return counted


async def run(dsn: str, query: str, *args: Any) -> Any:
    """One value that the superuser reads or changes."""
    async with migrations.owner(dsn) as connection:
        return await connection.fetchval(query, *args)

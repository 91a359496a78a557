"""Profiles that have done something of everything, and what the house holds of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.struct_pb2 import Struct
from treering.clipboard.v1 import clipboard_service_pb2 as clipboard_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.data import checks, migrations
from services.roster import ROLES
from tests.rig.house import Caller

LONG = "A long value. " * 1_000
"""Lists leave it out."""
TYPE = memory_pb2.OBSERVATION_TYPE_DECISION


@dataclass(frozen=True)
class Life:
    """A profile, and the words that are in everything it has written."""

    caller: Caller
    word: str


async def lived(caller: Caller, word: str = "harbour") -> Life:
    """Fill every table: sessions open and ended, memories with all there is to one, entries of each kind."""
    memory, clipboard = caller.memory, caller.clipboard
    for name in ("ended", "open"):
        request = pb.StartSessionRequest(content_session_id=f"{word} {name}", agent_id=f"{word} bot")
        session = (await memory.StartSession(request)).session.id
        for number in range(3):
            await memory.Observe(observation(session, f"{word} {name} {number}", number))
        if name == "ended":
            await memory.EndSession(pb.EndSessionRequest(session_id=session))
    await clipboard.Set(clipboard_pb.SetRequest(name=f"{word} note", value=word, created_by_tool=word))
    await clipboard.Set(clipboard_pb.SetRequest(name=f"{word} book", value=f"{word} {LONG}"))
    for number in range(3):
        request = clipboard_pb.PushRequest(value=f"{word} {number}", idempotency_key=f"{word} {number}")
        await clipboard.Push(request)
    await clipboard.Pop(clipboard_pb.PopRequest(idempotency_key=f"{word} pop"))
    return Life(caller, word)


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

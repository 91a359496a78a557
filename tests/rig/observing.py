"""Sessions and observations, as a caller begins and makes them."""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import Struct
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.rig.house import Caller

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
SECRET = "ghp_" + "aB3dE6gH9jK2" * 3


async def a_session(house: Caller, name: str = "chat", agent: str = "") -> str:
    """The id of an open session."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id=name, agent_id=agent))
    return started.session.id


async def observed(house: Caller, session_id: str, content: str, **fields: Any) -> pb.ObserveResponse:
    """The answer to one observation, an insight unless another type is given."""
    request: dict[str, Any] = {"session_id": session_id, "content": content, "type": INSIGHT, **fields}
    return await house.memory.Observe(pb.ObserveRequest(**request))


def struct(fields: dict[str, Any]) -> Struct:
    """A plain object as a message."""
    made = Struct()
    made.update(fields)
    return made

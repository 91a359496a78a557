"""Bad input as data: what is asked, which field is wrong, and how each door has to say so.

The numbers are those of the project's catalogue of bad inputs; what is not of these rpcs is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.catalogue.doors import BAD_PARAMS, GRPC, IS_ERROR, MCP, REST, TOOLS, Request
from tests.catalogue.place import MEMORY, PROFILE, SESSION

NOBODY: Final = "6f2c1f0e-4b9a-4d51-9d3e-2f6f1b0a7c55"
"""An id that nothing has."""


@dataclass(frozen=True, slots=True)
class Row:
    """One bad input."""

    number: int
    what: str
    rpc: str
    request: Request
    fields: tuple[str, ...]
    """What the violations name."""
    doors: tuple[str, ...] = (GRPC, REST, MCP)
    reason: str = "INVALID_FIELD"
    code: str = "INVALID_ARGUMENT"
    status: int = 400
    mcp: str | int = IS_ERROR
    """``isError`` for what a service refuses, a JSON-RPC error for arguments that are none of the tool's."""

    def said(self, door: str) -> str | int:
        """How a door says it."""
        return {GRPC: self.code, REST: self.status, MCP: self.mcp}[door]

    def __str__(self) -> str:
        """The name of its test."""
        return f"{self.number}-{self.rpc}-{self.what}"


OBSERVE: Final[Request] = {"session_id": SESSION, "content": "It rains.", "type": "insight"}
SEARCH: Final[Request] = {"query": "rain"}
PROFILE_NAMES: Final[Request] = {"owner": "catalogue", "workspace": "w", "profile": "never made"}
GOOD: Final[Mapping[str, Request]] = {
    "StartSession": {"content_session_id": "never started"},
    "EndSession": {"session_id": SESSION},
    "GetSession": {"session_id": SESSION},
    "ListSessions": {},
    "Observe": OBSERVE,
    "ObserveBatch": {"session_id": SESSION, "observations": [{"content": "It rains.", "type": "insight"}]},
    "Search": SEARCH,
    "Brief": {"topic": "rain"},
    "Timeline": {"memory_ids": [NOBODY]},
    "GetMemories": {"memory_ids": [NOBODY]},
    "GetMemory": {"memory_id": MEMORY},
    "ListMemories": {},
    "DeleteMemory": {"memory_id": MEMORY},
    "UndeleteMemory": {"memory_id": MEMORY},
    "Reinforce": {"memory_id": MEMORY, "outcome": "success"},
    "Promote": {"memory_id": MEMORY, "ring": "procedure"},
    "Revise": {"memory_id": MEMORY, "content": "It snows."},
    "ListVersions": {"memory_id": MEMORY},
    "Supersede": {"memory_id": MEMORY, "content": "It snows."},
    "ListZReports": {},
    "GetZReport": {"session_id": SESSION},
    "CreateProfile": PROFILE_NAMES,
    "GetProfile": {"profile_id": PROFILE},
    "ListProfiles": {},
    "GetQuota": {"profile_id": PROFILE},
    "SetQuota": {"profile_id": PROFILE, "quota": {}},
    "CreateKey": {"profile_id": PROFILE, "name": "never made"},
    "ListKeys": {},
    "RevokeKey": {"key_id": "nobody"},
    "EraseProfile": {"profile_id": NOBODY},
    "GetErasure": {"profile_id": NOBODY},
    "ListErasures": {},
    "ExportProfile": {"profile_id": PROFILE},
}
"""For each method, a request that is fine but for what a row changes."""


def wrong(number: int, what: str, rpc: str, field: str, mcp: str | int = IS_ERROR, **changed: Any) -> Row:
    """A good request with something changed."""
    return Row(number, what, rpc, {**GOOD[rpc], **changed}, (field,), doors_of(rpc), mcp=mcp)


def wrong_json(number: int, what: str, rpc: str, field: str, **changed: Any) -> Row:
    """The same, where only JSON can say such a thing."""
    doors = tuple(door for door in doors_of(rpc) if door != GRPC)
    return Row(number, what, rpc, {**GOOD[rpc], **changed}, (field,), doors, mcp=BAD_PARAMS)


def wrong_message(number: int, what: str, rpc: str, field: str, **changed: Any) -> Row:
    """The same, where only protobuf can."""
    return Row(number, what, rpc, {**GOOD[rpc], **changed}, (field,), (GRPC,))


def too_large(number: int, what: str, rpc: str, field: str, **changed: Any) -> Row:
    """A value over its limit in size."""
    return Row(number, what, rpc, {**GOOD[rpc], **changed}, (field,), reason="VALUE_TOO_LARGE", status=413)


def doors_of(rpc: str) -> tuple[str, ...]:
    """The doors that have a method."""
    return (GRPC, REST, MCP) if rpc in TOOLS else (GRPC, REST)

"""The turns of a conversation, and its thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from libs import errors
from libs.language.names import clean_name, clean_text
from services.results.results.result import ResultConflict

ROLE_CHARS_MAX = 64
TURN_CHARS_MAX = 50_000
THREAD_BYTES_MAX = 2_097_152
"""What the thread has at most as one content."""
THREAD_TYPE = "application/json"


class TurnConflict(ResultConflict):
    """Another turn has this number already."""


class TurnOutOfOrder(errors.WrongState):
    """The turn comes too early: its number is not the next one."""

    reason = "TURN_OUT_OF_ORDER"

    @classmethod
    def before(cls, number: int) -> TurnOutOfOrder:
        """With the number that is next."""
        return cls(
            f"The next turn has number {number}. Append that one first.", metadata={"next": str(number)}
        )


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """A checked turn that is not kept yet."""

    role: str
    content: str
    number: int | None
    """``None``: the next one."""

    @property
    def signature(self) -> str:
        """What a turn appended again has to have alike."""
        return json.dumps([self.role, self.content], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn."""

    number: int
    role: str
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunTurn:
    """A turn, and its run."""

    run_id: UUID
    turn: Turn


def turn_draft(role: str, content: str, number: int | None) -> TurnDraft:
    """A turn to append. Raises ``Invalid``, ``TooLarge``."""
    return TurnDraft(
        clean_name("role", role, ROLE_CHARS_MAX), clean_text("content", content, TURN_CHARS_MAX), number
    )


def shown(turns: Sequence[Turn], room: int = THREAD_BYTES_MAX) -> list[str]:
    """As many turns as there is room for, from the first, each as JSON; at least one."""
    texts: list[str] = []
    for turn in turns:
        text = _json(turn)
        room -= len(text.encode()) + 1
        if room < 0 and texts:
            break
        texts.append(text)
    return texts


def thread(texts: Sequence[str], next_page_token: str) -> bytes:
    """The content of a thread of turns that are JSON already."""
    return f'{{"turns":[{",".join(texts)}],"next_page_token":{json.dumps(next_page_token)}}}'.encode()


def _json(turn: Turn) -> str:
    told = {
        "number": turn.number,
        "role": turn.role,
        "content": turn.content,
        "created_at": turn.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

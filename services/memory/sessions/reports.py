"""The Z-report: what a session came to, from what was recorded in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from libs import errors
from services.memory.memories.rings import Outcome, Type

SUMMARY_CHARS_MAX = 1000
KEY_OBSERVATIONS_MAX = 10
DECISIONS_MAX = 20
TOOLS_MAX = 50
TEXT_CHARS_MAX = 500
"""Of one observation or decision."""
RESULT_CHARS_MAX = 200
"""Of what a tool last answered."""
TOOLS_NAMED_MAX = 5
"""In the summary."""
EMPTY = "Empty session with no observations."

# How telling an observation is. An order, not a measure: what was understood or chosen, then what
# failed or worked, then steps, then the traffic of tools.
_TELLING = {
    Type.DECISION: 5,
    Type.INSIGHT: 5,
    Type.ERROR_PATTERN: 4,
    Type.FAILURE_PATTERN: 4,
    Type.SUCCESS_PATTERN: 4,
    Type.USER_PREFERENCE: 4,
    Type.WORKFLOW_STEP: 2,
    Type.CONTEXT_SWITCH: 1,
    Type.TOOL_RESULT: 1,
    Type.TOOL_CALL: 0,
}
_TOOL_TYPES = (Type.TOOL_CALL, Type.TOOL_RESULT)


class ZReportNotReady(errors.NotReady):
    """The session has no Z-report yet: it is still open. End it first."""

    reason = "Z_REPORT_NOT_READY"


@dataclass(frozen=True, slots=True)
class Noted:
    """What a report reads of a memory."""

    type: Type
    outcome: Outcome
    text: str
    """Its essence."""
    tool: str
    observed: int
    """How often it was observed."""
    successes: int
    failures: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the whole session, also where it is longer than what is read of it."""

    observations: int
    successes: int
    failures: int


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How one tool did."""

    name: str
    uses: int
    successes: int
    failures: int
    last_result: str = ""
    """What it last answered, shortened."""


@dataclass(frozen=True, slots=True)
class Told:
    """The words of a report."""

    summary: str
    key_observations: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    tools: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True)
class ZReport:
    """What a session came to."""

    session_id: UUID
    created_at: datetime
    told: Told
    totals: Totals
    summary_tokens: int
    memory_id: UUID | None = None
    """The memory that it was promoted to."""

    @property
    def success_rate(self) -> float | None:
        """Successes among recorded successes and failures."""
        recorded = self.totals.successes + self.totals.failures
        return self.totals.successes / recorded if recorded else None


def summarise(noted: Sequence[Noted], totals: Totals) -> Told:
    """Tell a session's observations, given in their order. Nothing is said that was not recorded."""
    if not noted:
        return Told(EMPTY)
    telling = sorted(range(len(noted)), key=lambda at: (-_telling(noted[at]), at))
    key = tuple(_clipped(noted[at].text) for at in sorted(telling[:KEY_OBSERVATIONS_MAX]))
    chosen = [note.text for note in noted if note.type is Type.DECISION]
    decisions = tuple(_clipped(text) for text in chosen[-DECISIONS_MAX:])
    tools = _tools(noted)
    return Told(_summary([noted[at].text for at in telling], totals, tools), key, decisions, tools)


def with_summary(told: Told, summary: str | None) -> Told:
    """The same with a better summary, if there is one."""
    return replace(told, summary=summary) if summary else told


def _telling(note: Noted) -> float:
    recorded = note.outcome in (Outcome.SUCCESS, Outcome.FAILURE)
    return _TELLING[note.type] + recorded + min(note.observed - 1, 3) / 3


def _tools(noted: Sequence[Noted]) -> tuple[ToolUse, ...]:
    """The most used first."""
    uses: dict[str, ToolUse] = {}
    for note in noted:
        if note.tool and note.type in _TOOL_TYPES:
            use = uses.get(note.tool, ToolUse(note.tool, 0, 0, 0))
            answered = note.type is Type.TOOL_RESULT
            uses[note.tool] = ToolUse(
                note.tool,
                use.uses + note.observed,
                use.successes + note.successes,
                use.failures + note.failures,
                _clipped(note.text, RESULT_CHARS_MAX) if answered else use.last_result,
            )
    return tuple(sorted(uses.values(), key=lambda use: (-use.uses, use.name))[:TOOLS_MAX])


def _summary(texts: Sequence[str], totals: Totals, tools: Sequence[ToolUse]) -> str:
    """The counts, then the most telling texts, as many as fit whole."""
    said = [_counts(totals)]
    if tools:
        named = ", ".join(f"{use.name} ({use.uses})" for use in tools[:TOOLS_NAMED_MAX])
        said.append(f"Tools: {named}.")
    summary = _clipped(" ".join(said), SUMMARY_CHARS_MAX)
    for text in texts:
        longer = f"{summary} {_clipped(text)}"
        if len(longer) > SUMMARY_CHARS_MAX:
            break
        summary = longer
    return summary


def _counts(totals: Totals) -> str:
    noun = "observation" if totals.observations == 1 else "observations"
    recorded = f", {totals.successes} succeeded and {totals.failures} failed"
    return f"{totals.observations} {noun}{recorded if totals.successes or totals.failures else ''}."


def _clipped(text: str, chars: int = TEXT_CHARS_MAX) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 1].rstrip()}…"

"""A run on its way in, and a run on its way out: as it was sent, and checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from libs.errors import invalid
from libs.language.names import clean_text
from services.results.runs.ids import optional_id
from services.results.runs.run import Kind, Status

GOAL_CHARS_MAX = 10_000
OUTCOME_CHARS_MAX = 50_000
TTL_SECONDS_MAX = 31_536_000
"""365 days."""
OTHER_OWNER = (
    "memory_owner does not name the profile of the caller's key, so it is not followed: "
    "the caller's own memory is used."
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked run that is not kept yet."""

    id: UUID
    workflow_id: str
    kind: Kind
    goal: str
    parent: UUID | None
    ttl: timedelta
    implicit: bool = False

    @property
    def signature(self) -> str:
        """What a repeated start has to have alike."""
        return json.dumps([self.kind, self.goal, str(self.parent or "")], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Finishing:
    """How a run is to be finished."""

    status: Status
    outcome: str
    final_task: str
    """Empty: whatever comes last."""

    @property
    def signature(self) -> str:
        """What a repeated finish has to have alike."""
        return json.dumps([self.status, self.outcome, self.final_task], ensure_ascii=False)


def started(
    run_id: UUID, workflow_id: str, kind: Kind, goal: str, parent: UUID | None, ttl: timedelta
) -> Draft:
    """A run to start. Without a workflow id its own id is one. Raises ``Invalid``."""
    if (kind is Kind.CHILD) != (parent is not None):
        need = "is needed by a child" if parent is None else "is for a child only"
        raise invalid("parent_run_id", need, "run.parent")
    if not timedelta(seconds=1) <= ttl <= timedelta(seconds=TTL_SECONDS_MAX):
        raise invalid("ttl_seconds", f"must be from 1 to {TTL_SECONDS_MAX}", "int32.gte_lte")
    return Draft(
        run_id,
        optional_id("workflow_id", workflow_id) or str(run_id),
        kind,
        clean_text("goal", goal, GOAL_CHARS_MAX) if goal else "",
        parent,
        ttl,
    )


def begun(run_id: UUID, workflow_id: str, ttl: timedelta) -> Draft:
    """The run that a first result or turn begins, if there is none."""
    return Draft(run_id, workflow_id, Kind.MISSION, "", None, ttl, implicit=True)


def finishing(status: Status, outcome: str, final_task_id: str) -> Finishing:
    """How to finish a run. Raises ``Invalid``, ``TooLarge``."""
    said = clean_text("outcome", outcome, OUTCOME_CHARS_MAX) if outcome else ""
    return Finishing(status, said, optional_id("final_task_id", final_task_id))


def warnings(memory_owner: str, profile: UUID) -> list[str]:
    """What to say about the memory that was asked for: only the caller's own is ever used."""
    return [OTHER_OWNER] if memory_owner and memory_owner.lower() != str(profile) else []

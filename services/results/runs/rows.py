"""Runs in rows of the schema ``results``: sealed on the way in, opened on the way out.

Workflow id and goal are bound to the workflow's keyed hash and to the write, which has a number that no other
has; outcome and episode are written once, and bound to the run.
"""

from __future__ import annotations

import secrets
from typing import Any
from uuid import UUID

import orjson

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from libs.language.lexemes import Lexer
from services.results.runs.drafts import Draft, Finishing
from services.results.runs.episode import Episode, indexed
from services.results.runs.run import Kind, Run, State, Status

Item = tuple[Any, ...]
"""A composite value of the schema in the order of its fields."""
VERSION_BITS = 63
"""So many that no number comes twice by chance, as a ``bigint`` holds them."""


def blind_workflow(keys: ProfileKeys, workflow_id: str) -> bytes:
    """What a run is looked up by."""
    return keys.blind("workflow", workflow_id)


def blind_task(keys: ProfileKeys, workflow_id: str, task_id: str) -> bytes:
    """What a result is looked up by. Neither id holds a ``/``."""
    return keys.blind("task", f"{workflow_id}/{task_id}")


def item_of(keys: ProfileKeys, draft: Draft) -> Item:
    """A ``results.run_draft``."""
    workflow_mac = blind_workflow(keys, draft.workflow_id)
    version = secrets.randbits(VERSION_BITS)
    body = orjson.dumps([draft.workflow_id, draft.goal])
    return (
        draft.id,
        workflow_mac,
        draft.kind,
        draft.parent,
        None if draft.implicit else keys.blind("start", draft.signature),
        draft.ttl,
        version,
        keys.seal("run.body", UUID(bytes=workflow_mac), version, body),
    )


def finishing_of(keys: ProfileKeys, row: Row, how: Finishing, lexer: Lexer) -> Item:
    """A ``results.finishing`` of the run in a row."""
    run = run_of(keys, row)
    episode = orjson.dumps([run.workflow_id, run.goal, how.status, how.outcome])
    counts = indexed(lexer, f"{run.workflow_id}\n{run.goal}\n{how.outcome}")
    return (
        State.after(how.status),
        keys.blind("finish", how.signature),
        blind_task(keys, run.workflow_id, how.final_task) if how.final_task else None,
        keys.seal("run.outcome", run.id, 0, how.outcome.encode()),
        row["body_version"],
        keys.seal("episode.body", run.id, 0, episode),
        [keys.term(term) for term in counts],
        list(counts.values()),
        max(1, counts.total()),
    )


def episode_of(keys: ProfileKeys, row: Row) -> Episode:
    """A row of ``results.episode``."""
    body = keys.open("episode.body", row["run_id"], 0, row["body_sealed"])
    workflow_id, goal, status, outcome = orjson.loads(body)
    return Episode(
        run_id=row["run_id"],
        workflow_id=workflow_id,
        kind=Kind(row["kind"]),
        status=Status(status),
        goal=goal,
        outcome=outcome,
        ended_at=row["created_at"],
    )


def outcome_of(keys: ProfileKeys, run_id: UUID, sealed: bytes | None) -> str:
    """What a run came to; nothing before it was finished."""
    return "" if sealed is None else keys.open("run.outcome", run_id, 0, sealed).decode()


def named(keys: ProfileKeys, row: Row) -> tuple[str, str]:
    """Workflow id and goal of a run."""
    place = UUID(bytes=row["workflow_mac"])
    workflow_id, goal = orjson.loads(keys.open("run.body", place, row["body_version"], row["body_sealed"]))
    return workflow_id, goal


def run_of(keys: ProfileKeys, row: Row) -> Run:
    """A row of ``results.run``; what it came to may be left out."""
    workflow_id, goal = named(keys, row)
    return Run(
        id=row["id"],
        workflow_id=workflow_id,
        kind=Kind(row["kind"]),
        state=State(row["state"]),
        goal=goal,
        outcome=outcome_of(keys, row["id"], row.get("outcome_sealed")),
        parent=row["parent_run_id"],
        implicit=row["implicit"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        expires_at=row["expires_at"],
    )

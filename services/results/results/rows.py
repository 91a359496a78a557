"""Results and turns in rows of the schema ``results``: sealed on the way in, opened on the way out.

Each is written once, and bound to an id of its own; a part of a content to that and its number.
"""

from __future__ import annotations

from uuid import UUID

import orjson

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from services.results.results.drafts import Draft
from services.results.results.result import Labels, Result, Step
from services.results.results.turns import Turn, TurnDraft
from services.results.results.values import Encoding
from services.results.runs.rows import Item, blind_task
from services.results.runs.run import Status


def item_of(keys: ProfileKeys, draft: Draft, result_id: UUID, parts: int, content: bytes | None) -> Item:
    """A ``results.draft``; without content its parts are there already."""
    labels = draft.labels
    said = orjson.dumps([labels.task_id, labels.content_type, labels.sha256, labels.error])
    return (
        result_id,
        blind_task(keys, draft.key.workflow_id, draft.key.task_id),
        draft.attempt,
        draft.status,
        draft.encoding,
        draft.source,
        draft.size_bytes,
        parts,
        keys.blind("result", draft.signature),
        keys.seal("result.labels", result_id, 0, said),
        None if content is None else keys.seal("result.content", result_id, 0, content),
    )


def sealed_part(keys: ProfileKeys, result_id: UUID, number: int, content: bytes) -> bytes:
    """One part of a content."""
    return keys.seal("part.content", result_id, number, content)


def kept(draft: Draft, parts: int, row: Row) -> Step:
    """A draft as the step that was made of it."""
    return Step(
        workflow_id=draft.key.workflow_id,
        run_id=row["run_id"],
        labels=draft.labels,
        status=draft.status,
        attempt=row["attempt"],
        position=row["position"],
        size_bytes=draft.size_bytes,
        parts=parts,
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


def step_of(keys: ProfileKeys, workflow_id: str, row: Row) -> Step:
    """A row of ``results.result``; its content may be left out."""
    return Step(
        workflow_id=workflow_id,
        run_id=row["run_id"],
        labels=Labels(*orjson.loads(keys.open("result.labels", row["id"], 0, row["labels_sealed"]))),
        status=Status(row["status"]),
        attempt=row["attempt"],
        position=row["position"],
        size_bytes=row["size_bytes"],
        parts=row["parts"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


def result_of(
    keys: ProfileKeys, workflow_id: str, row: Row, part: int = 0, part_sealed: bytes | None = None
) -> Result:
    """A row of ``results.result`` with its content, or with one part of it."""
    step, whole = step_of(keys, workflow_id, row), row["content_sealed"]
    if whole is not None:
        content = keys.open("result.content", row["id"], 0, whole)
    else:
        content = keys.open("part.content", row["id"], part, part_sealed or b"")
    return Result(step, content, Encoding(row["encoding"]), part)


def turn_item(keys: ProfileKeys, draft: TurnDraft, turn_id: UUID) -> Item:
    """A ``results.turn_draft``."""
    body = orjson.dumps([draft.role, draft.content])
    return (
        turn_id,
        draft.number,
        keys.blind("turn", draft.signature),
        len(draft.content.encode()),
        keys.seal("turn.body", turn_id, 0, body),
    )


def turn_of(keys: ProfileKeys, row: Row) -> Turn:
    """A row of ``results.turn``."""
    role, content = orjson.loads(keys.open("turn.body", row["id"], 0, row["body_sealed"]))
    return Turn(row["number"], role, content, row["created_at"])

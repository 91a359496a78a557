"""Rows of the schema ``memory`` and what they hold: sealed on the way in, opened on the way out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
import structlog

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from libs.data.sealing import SealedRecordBroken
from libs.language.embeddings import Vector
from libs.language.lexemes import fold_name
from services.memory.memories.drafts import Draft
from services.memory.memories.memory import Memory, Neighbor, Placement, Texts
from services.memory.memories.metadata import Metadata, canonical
from services.memory.memories.observations import Labels, Observation
from services.memory.memories.rings import Outcome, Ring, RingSetter, Stage, Type

FIRST_VERSION = 1
RING_NOTE = "memory.ring_note"
TF_MAX = 32_767
"""What a ``smallint`` holds; nothing is gained by counting further."""

Item = tuple[Any, ...]
"""A ``memory.item`` in the order of its fields."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def blind_name(keys: ProfileKeys, kind: str, name: str) -> bytes:
    """What a tag, alias or actor is looked up by, however it is spelled."""
    return keys.blind(kind, fold_name(name))


def blind_id(keys: ProfileKeys, kind: str, name: str) -> bytes:
    """What a session's or agent's own name is looked up by: letter by letter."""
    return keys.blind(kind, name)


def item_of(
    keys: ProfileKeys,
    session_id: UUID | None,
    draft: Draft,
    vector: Vector | None,
    version: int = FIRST_VERSION,
) -> Item:
    """A draft sealed for its row, and for the version that the row will have."""
    observation, short = draft.observation, draft.short
    labels = observation.labels
    key = observation.idempotency_key
    summary = short.summary if short.summary != observation.content else None
    essence = short.essence if short.essence != short.summary else None
    return (
        draft.id,
        keys.blind("content", observation.content),
        observation.type,
        observation.outcome,
        observation.occurred_at,
        blind_name(keys, "actor", labels.actor) if labels.actor else None,
        _seal(keys, "content", draft.id, version, observation.content),
        _seal(keys, "summary", draft.id, version, summary),
        _seal(keys, "essence", draft.id, version, essence),
        _seal(keys, "labels", draft.id, version, _labels_text(labels) if labels else None),
        _seal(keys, "metadata", draft.id, version, _metadata_text(observation)),
        short.full_tokens,
        short.summary_tokens,
        short.essence_tokens,
        observation.secrets_removed,
        vector,
        draft.length,
        observation.asks,
        list(draft.terms),
        [min(count, TF_MAX) for count in draft.terms.values()],
        _blind_names(keys, "tag", labels.tags),
        _blind_names(keys, "alias", labels.aliases),
        _actor_names(keys, labels.actor),
        keys.blind("idempotency key", key) if key else None,
        keys.blind("request", f"{session_id} {observation.signature}") if key else None,
    )


def memory_of(keys: ProfileKeys, row: Row) -> Memory:
    """A row of ``memory.shown`` or ``memory.outline``."""
    return Memory(
        id=row["id"],
        session_id=row["session_id"],
        position=row["position"],
        ring=Ring(row["ring"]),
        placement=placement_of(keys, row),
        stage=Stage(row["stage"]),
        type=Type(row["type"]),
        outcome=Outcome(row["outcome"]),
        source=row["source"],
        texts=texts_of(keys, row),
        labels=labels_of(keys, row),
        metadata=metadata_of(keys, row),
        successes=row["successes"],
        failures=row["failures"],
        reinforcement_count=row["reinforcement_count"],
        access_count=row["access_count"],
        secrets_removed=row["secrets_removed"],
        embedding_model=row["embedding_model"] or "",
        occurred_at=row["occurred_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        touched_at=row["touched_at"],
        version=row["version"],
        revision=row["revision"],
        valid_until=row["valid_until"],
        superseded_by=row["superseded_by"],
        repeats=row["repeats"],
    )


def placement_of(keys: ProfileKeys, row: Row) -> Placement:
    """Who set the ring, and why."""
    sealed: bytes | None = row["ring_note_sealed"]
    return Placement(
        set_by=RingSetter(row["ring_set_by"] or 0),
        confidence=row["ring_confidence"],
        reason=row["ring_reason"] or "",
        note="" if sealed is None else keys.open(RING_NOTE, row["id"], FIRST_VERSION, sealed).decode(),
    )


def seal_note(keys: ProfileKeys, memory_id: UUID, note: str) -> bytes:
    """What a caller says about a ring. It outlives what else is sealed, so it is bound to no version."""
    return keys.seal(RING_NOTE, memory_id, FIRST_VERSION, note.encode())


def texts_of(keys: ProfileKeys, row: Row) -> Texts:
    """The texts of a memory. In the place of one that is not there stands the next that is."""
    content = _open(keys, "content", row)
    summary = _open(keys, "summary", row)
    essence = _open(keys, "essence", row)
    middle = summary or content or essence
    return Texts(
        content=content or middle,
        summary=middle,
        essence=essence or middle,
        content_tokens=row["content_tokens"],
        summary_tokens=row["summary_tokens"],
        essence_tokens=row["essence_tokens"],
    )


def labels_of(keys: ProfileKeys, row: Row) -> Labels:
    """Actor, tags and aliases."""
    text = _open(keys, "labels", row)
    if not text:
        return Labels()
    actor, tags, aliases = orjson.loads(text)
    return Labels(actor, tuple(tags), tuple(aliases))


def fullest_of(keys: ProfileKeys, row: Row) -> str:
    """The fullest text of a row that may have only some of them."""
    return _open(keys, "content", row) or _open(keys, "summary", row) or _open(keys, "essence", row)


def readable_of(keys: ProfileKeys, row: Row) -> str | None:
    """The same; ``None`` where it does not open: work on many at once is not held up by a broken one."""
    try:
        return fullest_of(keys, row)
    except SealedRecordBroken:
        log.exception("memory.unreadable", memory=str(row["id"]))
        return None


def whole_of(keys: ProfileKeys, row: Row) -> str:
    """The text as it was observed, or the fullest that is left of it."""
    columns = ("original", "content", "summary", "essence")
    return next((text for text in (_open(keys, column, row) for column in columns) if text), "")


def essence_of(keys: ProfileKeys, row: Row) -> str:
    """The shortest text of a row that may have only some of them."""
    return _open(keys, "essence", row) or _open(keys, "summary", row) or _open(keys, "content", row)


def neighbor_of(keys: ProfileKeys, row: Row) -> Neighbor:
    """A memory beside another."""
    return Neighbor(row["id"], essence_of(keys, row), row["position"], row["occurred_at"])


def _seal(keys: ProfileKeys, column: str, row: UUID, version: int, text: str | None) -> bytes | None:
    return None if text is None else keys.seal(f"memory.{column}", row, version, text.encode())


def _open(keys: ProfileKeys, column: str, row: Row) -> str:
    sealed: bytes | None = row[f"{column}_sealed"]
    return "" if sealed is None else keys.open(f"memory.{column}", row["id"], row["version"], sealed).decode()


def _labels_text(labels: Labels) -> str:
    return canonical([labels.actor, labels.tags, labels.aliases])


def _metadata_text(observation: Observation) -> str | None:
    return canonical(observation.metadata.fields) if observation.metadata else None


def metadata_of(keys: ProfileKeys, row: Row) -> Metadata:
    """What was said beside the text."""
    text = _open(keys, "metadata", row)
    return Metadata(orjson.loads(text)) if text else Metadata()


def _blind_names(keys: ProfileKeys, kind: str, names: tuple[str, ...]) -> list[bytes]:
    """Each once: secrets taken out may have made names equal."""
    return list(dict.fromkeys(blind_name(keys, kind, name) for name in names))


def _actor_names(keys: ProfileKeys, actor: str) -> list[bytes]:
    """What people call an actor by: the whole name, and each word of it."""
    folded = fold_name(actor) if actor else ""
    called = dict.fromkeys((folded, *folded.split())) if folded else {}
    return [keys.blind("actor", name) for name in called]

"""Rows of memories on their way to the next stage: opened, and sealed again for their next version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from services.memory.lifecycle.ages import Step
from services.memory.memories.memory import Texts
from services.memory.memories.rings import Stage
from services.memory.memories.rows import texts_of

Item = tuple[Any, ...]
"""A ``memory.step`` in the order of its fields."""


@dataclass(frozen=True, slots=True)
class Leased:
    """A memory that was taken, as it was then."""

    id: UUID
    version: int
    texts: Texts
    labels: bytes | None
    metadata: bytes | None
    original: bytes | None
    """The whole text, if it was kept."""


def leased_of(keys: ProfileKeys, row: Row) -> Leased:
    """A row of the query ``leased``."""
    return Leased(
        id=row["id"],
        version=row["version"],
        texts=texts_of(keys, row),
        labels=_open(keys, "labels", row),
        metadata=_open(keys, "metadata", row),
        original=_open(keys, "original", row),
    )


def item_of(keys: ProfileKeys, leased: Leased, step: Step, texts: Texts) -> Item:
    """A memory at its next stage, sealed for its next version."""

    def seal(column: str, value: bytes | None) -> bytes | None:
        return value and keys.seal(f"memory.{column}", leased.id, leased.version + 1, value)

    original = leased.original or leased.texts.content.encode()
    return (
        leased.id,
        step.stage,
        seal("content", texts.content.encode()),
        seal("summary", texts.summary.encode() if texts.summary != texts.content else None),
        seal("essence", texts.essence.encode() if texts.essence != texts.summary else None),
        seal("labels", leased.labels),
        seal("metadata", leased.metadata),
        seal("original", original if step.keep_original else None),
        texts.content_tokens,
        texts.summary_tokens,
        texts.essence_tokens,
    )


def forgotten(memory_id: UUID) -> Item:
    """A memory of which nothing is to be left."""
    return (memory_id, Stage.FORGOTTEN, *[None] * 9)


def _open(keys: ProfileKeys, column: str, row: Row) -> bytes | None:
    sealed: bytes | None = row[f"{column}_sealed"]
    return sealed and keys.open(f"memory.{column}", row["id"], row["version"], sealed)

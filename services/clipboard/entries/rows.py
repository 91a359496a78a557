"""Rows of the schema ``clipboard`` and what they hold: sealed on the way in, opened on the way out.

What is sealed is bound to the entry's place, which is its name or, on the stack, its id; and to the write,
which has a number that no other write has.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from services.clipboard.entries.drafts import Draft
from services.clipboard.entries.entry import Entry, Labels, Visibility
from services.clipboard.entries.values import Encoding

Item = tuple[Any, ...]
"""A ``clipboard.draft`` in the order of its fields."""


def blind_name(keys: ProfileKeys, name: str) -> bytes:
    """What an entry is looked up by: its name, letter by letter."""
    return keys.blind("name", name)


def item_of(keys: ProfileKeys, workspace: UUID, draft: Draft, entry_id: UUID, version: int) -> Item:
    """A draft sealed for its row."""
    labels = draft.labels
    name_mac = blind_name(keys, labels.name) if labels.name else None
    place = _place(entry_id, name_mac)
    said = orjson.dumps([labels.name, labels.content_type, labels.tool, labels.model])
    return (
        entry_id,
        workspace,
        name_mac,
        version,
        draft.visibility,
        draft.encoding,
        draft.source,
        draft.size_bytes,
        draft.ttl,
        keys.seal("entry.labels", place, version, said),
        keys.seal("entry.value", place, version, draft.value.encode()),
    )


def kept(
    draft: Draft,
    entry_id: UUID,
    created_at: datetime,
    updated_at: datetime,
    expires_at: datetime,
    position: int | None = None,
) -> Entry:
    """A draft as the entry that was made of it."""
    return Entry(
        id=entry_id,
        labels=draft.labels,
        depth=None if position is None else 0,
        position=position,
        value=draft.value,
        encoding=draft.encoding,
        size_bytes=draft.size_bytes,
        visibility=draft.visibility,
        source=draft.source,
        created_at=created_at,
        updated_at=updated_at,
        expires_at=expires_at,
    )


def entry_of(keys: ProfileKeys, row: Row, depth: int | None) -> Entry:
    """A row of ``clipboard.entry``; its value may be left out."""
    place, version = _place(row["id"], row["name_mac"]), row["version"]
    sealed: bytes | None = row["value_sealed"]
    return Entry(
        id=row["id"],
        labels=Labels(*orjson.loads(keys.open("entry.labels", place, version, row["labels_sealed"]))),
        depth=depth,
        position=row["position"],
        value=None if sealed is None else keys.open("entry.value", place, version, sealed).decode(),
        encoding=Encoding(row["encoding"]),
        size_bytes=row["size_bytes"],
        visibility=Visibility(row["visibility"]),
        source=row["source"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["expires_at"],
    )


def _place(entry_id: UUID, name_mac: bytes | None) -> UUID:
    return UUID(bytes=name_mac) if name_mac else entry_id

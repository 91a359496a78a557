"""Rows of versions, opened."""

from __future__ import annotations

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from services.memory.memories.rows import fullest_of
from services.memory.rings.revisions import Revision


def revision_of(keys: ProfileKeys, row: Row) -> Revision:
    """A row of the query ``versions``. What it holds is sealed as its memory's texts were at the time."""
    return Revision(
        number=row["revision"],
        content=fullest_of(keys, row),
        content_tokens=row["content_tokens"],
        created_at=row["created_at"],
        current=row["current"],
    )

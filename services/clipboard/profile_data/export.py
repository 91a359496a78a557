"""Everything of a clipboard that its owner can read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from libs.clock import Clock
from libs.data.walking import Place, Walk
from services.clipboard.entries.entry import Entry, Member
from services.clipboard.entries.store import Store


class Export:
    """Reads clipboards whole."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def of(self, profile: UUID) -> Sequence[Walk[Any]]:
        """The entries of a profile, the newest first."""
        # Its own, so that it may read them whatever workspace it is in.
        owner = Member(profile, profile)

        async def entries(after: Place | None, limit: int) -> list[Entry]:
            return await self._whole(owner, after, limit, self._clock())

        return [Walk("clipboard_entry", entries, _place)]

    async def _whole(self, owner: Member, after: Place | None, limit: int, now: datetime) -> list[Entry]:
        """Entries with their values. A page ends with a long one, so that one long value is held at once."""
        whole: list[Entry] = []
        while not whole and (listed := await self._store.newest(owner, owner.profile, limit, after, now)):
            for entry in listed:
                after = _place(entry)
                if entry.value is not None:
                    whole.append(entry)
                elif read := await self._store.whole(owner.profile, entry, now):
                    whole.append(read)
                    break
        return whole


def _place(entry: Entry) -> tuple[datetime, UUID]:
    return entry.created_at, entry.id

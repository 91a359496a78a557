"""Everything that is kept of a profile, by the gateway and by every service, as one stream of records.

Each record carries a token to go on after it, in which its place and the counts up to it are sealed:
nothing is remembered between two calls.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from google.protobuf.message import Message
from treering.access.v1 import export_pb2 as pb

from libs.clock import Clock
from libs.data.pages import InvalidPageToken, Pages
from libs.data.walking import Place, Walk, walked
from libs.errors import Violation
from libs.messages import of_time
from services.gateway.access.keepers import Keeper
from services.gateway.access.keys import Key
from services.gateway.access.profiles import Profile
from services.gateway.access.store import Store
from services.gateway.access.wire import key_message, profile_message

FORMAT_VERSION = 1
RPC = "ExportProfile"
UINT32_MAX = 2**32 - 1
OWN = ""
"""The part that the gateway reads itself. It sorts before the name of any service."""
KEYS_AT_ONCE = 200
AROUND = ("header", "trailer")
"""Records that are not counted."""
RECORD: Any = pb.ExportProfileResponse.DESCRIPTOR.oneofs_by_name["record"]
KINDS = tuple(field.name for field in RECORD.fields if field.name not in AROUND)

Records = AsyncGenerator[tuple[str, str, Message]]
"""What a part holds: each record's mark within the part, its kind, and the record."""


@dataclass(slots=True)
class _Progress:
    """Where an export stands."""

    part: str
    mark: str
    counts: list[int]
    """Records up to here, by ``KINDS``."""


class Exporter:
    """Reads profiles whole."""

    def __init__(self, store: Store, keepers: Sequence[Keeper], pages: Pages, clock: Clock) -> None:
        self._store = store
        self._keepers = keepers
        self._pages = pages
        self._clock = clock

    async def export(
        self, reader: UUID, profile_id: UUID, after: str
    ) -> AsyncGenerator[pb.ExportProfileResponse]:
        """The records of a profile. Raises ``ProfileNotFound``, and ``InvalidPageToken`` for ``after``."""
        at = self._opened(reader, profile_id, after)
        profile = await self._store.find_profile(profile_id)
        if not after:
            header = _header(profile_id, self._clock())
            yield pb.ExportProfileResponse(next=self._sealed(reader, profile_id, at), header=header)
        for name, records in self._parts(profile, at):
            async with aclosing(records):
                async for mark, kind, record in records:
                    at.part, at.mark = name, mark
                    at.counts[KINDS.index(kind)] += 1
                    # The record is of the type of its field: its kind is the field's name.
                    fields: dict[str, Any] = {kind: record}
                    yield pb.ExportProfileResponse(next=self._sealed(reader, profile_id, at), **fields)
        yield pb.ExportProfileResponse(trailer=_trailer(at.counts))

    def _parts(self, profile: Profile, at: _Progress) -> list[tuple[str, Records]]:
        """What is still to be read, each part from where it was left."""
        start = {at.part: at.mark}
        parts = [(OWN, self._own(profile, start.get(OWN, "")))]
        parts += [(each.name, each.export(profile.id, start.get(each.name, ""))) for each in self._keepers]
        return [(name, records) for name, records in parts if name >= at.part]

    def _own(self, profile: Profile, mark: str) -> Records:
        async def itself(after: Place | None, limit: int) -> Sequence[Profile]:
            return [] if after else [profile]

        async def keys(after: Place | None, limit: int) -> Sequence[Key]:
            return await self._store.list_keys(profile.id, after, limit)

        walks: Sequence[Walk[Any]] = (
            Walk("profile", itself, lambda one: (one.created_at, one.id)),
            Walk("key", keys, lambda one: (one.created_at, one.id), read_id=str, size=KEYS_AT_ONCE),
        )
        return _shown(walks, mark)

    def _sealed(self, reader: UUID, profile_id: UUID, at: _Progress) -> str:
        position = at.part, at.mark, ",".join(map(str, at.counts))
        return self._pages.seal(reader, RPC, profile_id.bytes, position, self._clock())

    def _opened(self, reader: UUID, profile_id: UUID, after: str) -> _Progress:
        try:
            position = self._pages.open(reader, RPC, profile_id.bytes, after, self._clock())
        except InvalidPageToken:
            why = "is not one of this export, or has expired; send back next as it is, or start again"
            raise InvalidPageToken(f"after: {why}", violations=[Violation("after", why, "after")]) from None
        part, mark, counted = position or (OWN, "", "")
        counts = [int(count) for count in str(counted).split(",") if count]
        return _Progress(str(part), str(mark), counts + [0] * (len(KINDS) - len(counts)))


async def _shown(walks: Sequence[Walk[Any]], mark: str) -> Records:
    show = {"profile": profile_message, "key": key_message}
    async for reached, kind, found in walked(walks, mark):
        yield reached, kind, show[kind](found)


def _header(profile_id: UUID, now: datetime) -> pb.ExportHeader:
    return pb.ExportHeader(
        format_version=FORMAT_VERSION, profile_id=str(profile_id), exported_at=of_time(now)
    )


def _trailer(counts: Sequence[int]) -> pb.ExportTrailer:
    told = [
        pb.ExportCount(kind=kind, count=min(count, UINT32_MAX))
        for kind, count in zip(KINDS, counts, strict=True)
    ]
    return pb.ExportTrailer(counts=told)

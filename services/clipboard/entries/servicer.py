"""ClipboardService: unwrap, call, wrap."""

from __future__ import annotations

from typing import Any

import grpc
from treering.clipboard.v1 import clipboard_service_pb2 as pb
from treering.clipboard.v1 import clipboard_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.data.pages import Pages
from libs.language.names import clean_name
from libs.rpc.caller import caller
from libs.rpc.lists import Lists
from services.clipboard.entries import wire
from services.clipboard.entries.drafts import NAME_CHARS_MAX, for_name, for_stack, optional_name
from services.clipboard.entries.entry import Member
from services.clipboard.entries.quota import Quota
from services.clipboard.entries.store import Store

Context = grpc.aio.ServicerContext[Any, Any]


class ClipboardServicer(rpc.ClipboardServiceServicer):
    """Hands data between tools and agents. ``quota`` holds where a profile's own does not say."""

    def __init__(self, store: Store, pages: Pages, clock: Clock, quota: Quota) -> None:
        self._store = store
        self._lists = Lists(pages, clock)
        self._clock = clock
        self._quota = quota

    async def Set(self, request: pb.SetRequest, context: Context) -> pb.SetResponse:
        """Put a value under a name."""
        draft = for_name(request.name, wire.to_raw(request), caller().source)
        entry = await self._store.put(_member(), draft, self._allowed(), self._clock())
        return pb.SetResponse(entry=wire.of_entry(entry))

    async def Get(self, request: pb.GetRequest, context: Context) -> pb.GetResponse:
        """Read the entry of a name."""
        reader = _member()
        name = clean_name("name", request.name, NAME_CHARS_MAX)
        profile = wire.to_profile(request.profile_id, reader.profile)
        entry = await self._store.get(reader, profile, name, self._clock())
        return pb.GetResponse(entry=wire.of_entry(entry))

    async def Peek(self, request: pb.PeekRequest, context: Context) -> pb.PeekResponse:
        """Read an entry of the stack."""
        reader = _member()
        profile = wire.to_profile(request.profile_id, reader.profile)
        seen = await self._store.peek(reader, profile, request.depth, self._clock())
        return pb.PeekResponse(entry=wire.of_entry(seen.entry), stack_version=seen.version)

    async def List(self, request: pb.ListRequest, context: Context) -> pb.ListResponse:
        """List entries, the newest first."""
        reader = _member()
        profile = wire.to_profile(request.profile_id, reader.profile)
        page = self._lists.page(reader.profile, "List", request)
        found = await self._store.newest(reader, profile, page.limit, page.after, self._clock())
        shown, token = self._lists.cut(page, found, wire.of_entry, lambda last: (last.created_at, last.id))
        return pb.ListResponse(entries=shown, next_page_token=token)

    async def Delete(self, request: pb.DeleteRequest, context: Context) -> pb.DeleteResponse:
        """Remove the entry of a name."""
        name = clean_name("name", request.name, NAME_CHARS_MAX)
        await self._store.delete(caller().profile, name, self._clock())
        return pb.DeleteResponse()

    async def Clear(self, request: pb.ClearRequest, context: Context) -> pb.ClearResponse:
        """Remove everything."""
        cleared = await self._store.clear(caller().profile, self._clock())
        return pb.ClearResponse(cleared_count=cleared.entries, stack_version=cleared.version)

    async def Push(self, request: pb.PushRequest, context: Context) -> pb.PushResponse:
        """Put a value on the stack."""
        key = optional_name("idempotency_key", request.idempotency_key)
        draft = for_stack(wire.to_raw(request), caller().source)
        pushed = await self._store.push(_member(), draft, key, self._allowed(), self._clock())
        return pb.PushResponse(entry=wire.of_entry(pushed.entry), stack_version=pushed.version)

    async def Pop(self, request: pb.PopRequest, context: Context) -> pb.PopResponse:
        """Take the newest entry off the stack."""
        key = optional_name("idempotency_key", request.idempotency_key)
        popped = await self._store.pop(_member(), key, self._clock())
        return pb.PopResponse(entry=wire.of_entry(popped.entry), stack_version=popped.version)

    async def GetUsage(self, request: pb.GetUsageRequest, context: Context) -> pb.GetUsageResponse:
        """Read how much is there, and how much may be."""
        usage = await self._store.usage(caller().profile, self._clock())
        return wire.of_usage(usage, self._allowed())

    def _allowed(self) -> Quota:
        return self._quota.of(caller().quota)


def _member() -> Member:
    who = caller()
    return Member(who.profile, who.workspace)

"""``treering.access.v1.AccessService``."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from treering.access.v1 import access_service_pb2 as pb
from treering.access.v1 import access_service_pb2_grpc as rpc
from treering.access.v1 import erasure_pb2, export_pb2

from libs.clock import Clock
from libs.data.pages import Pages
from libs.messages import of_quota, to_id, to_quota
from libs.rpc.caller import caller
from libs.rpc.chain import Context
from libs.rpc.lists import Lists
from services.gateway.access import wire
from services.gateway.access.erasure_store import ErasureStore
from services.gateway.access.erasure_wire import erasure_message
from services.gateway.access.exporter import Exporter
from services.gateway.access.keys import RANDOM_BYTES, issue
from services.gateway.access.store import Store


class AccessServicer(rpc.AccessServiceServicer):
    """Serves whoever runs the house. ``scopes`` are those that methods ask for.

    A profile whose quota does not say otherwise may have ``keys_max`` live keys.
    """

    def __init__(
        self,
        store: Store,
        erasures: ErasureStore,
        exporter: Exporter,
        clock: Clock,
        pages: Pages,
        scopes: frozenset[str],
        keys_max: int,
    ) -> None:
        self._store = store
        self._erasures = erasures
        self._exporter = exporter
        self._clock = clock
        self._lists = Lists(pages, clock)
        self._scopes = scopes
        self._keys_max = keys_max

    async def CreateProfile(
        self, request: pb.CreateProfileRequest, context: Context
    ) -> pb.CreateProfileResponse:
        """Find a profile by its names, or make it."""
        profile = await self._store.create_profile(wire.to_names(request), self._clock())
        return pb.CreateProfileResponse(profile=wire.profile_message(profile))

    async def GetProfile(self, request: pb.GetProfileRequest, context: Context) -> pb.GetProfileResponse:
        """Read a profile."""
        profile = await self._store.find_profile(to_id("profile_id", request.profile_id))
        return pb.GetProfileResponse(profile=wire.profile_message(profile))

    async def ListProfiles(
        self, request: pb.ListProfilesRequest, context: Context
    ) -> pb.ListProfilesResponse:
        """List profiles, the newest first."""
        page = self._lists.page(caller().profile, "ListProfiles", request)
        found = await self._store.list_profiles(page.after, page.limit)
        shown, token = self._lists.cut(
            page, found, wire.profile_message, lambda last: (last.created_at, last.id)
        )
        return pb.ListProfilesResponse(profiles=shown, next_page_token=token)

    async def GetQuota(self, request: pb.GetQuotaRequest, context: Context) -> pb.GetQuotaResponse:
        """Read what was set for a profile."""
        quota = await self._store.quota(to_id("profile_id", request.profile_id))
        return pb.GetQuotaResponse(quota=of_quota(quota))

    async def SetQuota(self, request: pb.SetQuotaRequest, context: Context) -> pb.SetQuotaResponse:
        """Set a profile's quota as a whole."""
        quota = to_quota(request.quota)
        await self._store.set_quota(to_id("profile_id", request.profile_id), quota)
        return pb.SetQuotaResponse(quota=of_quota(quota))

    async def CreateKey(self, request: pb.CreateKeyRequest, context: Context) -> pb.CreateKeyResponse:
        """Make a key. Its secret is in this answer only."""
        draft = wire.to_draft(request)
        key, minted = issue(draft, self._scopes, self._clock(), os.urandom(RANDOM_BYTES))
        await self._store.add_key(key, minted.digest, self._keys_max)
        return pb.CreateKeyResponse(key=wire.key_message(key), secret=minted.secret)

    async def ListKeys(self, request: pb.ListKeysRequest, context: Context) -> pb.ListKeysResponse:
        """List keys of one profile or of all, the newest first."""
        profile_id = wire.to_filter("profile_id", request.profile_id)
        page = self._lists.page(caller().profile, "ListKeys", request)
        found = await self._store.list_keys(profile_id, page.after, page.limit)
        shown, token = self._lists.cut(page, found, wire.key_message, lambda last: (last.created_at, last.id))
        return pb.ListKeysResponse(keys=shown, next_page_token=token)

    async def RevokeKey(self, request: pb.RevokeKeyRequest, context: Context) -> pb.RevokeKeyResponse:
        """Revoke a key. The last admin key too: on the machine, the command line makes another."""
        key = await self._store.revoke_key(wire.to_key_id(request), self._clock())
        return pb.RevokeKeyResponse(key=wire.key_message(key))

    async def EraseProfile(
        self, request: erasure_pb2.EraseProfileRequest, context: Context
    ) -> erasure_pb2.EraseProfileResponse:
        """Begin to erase a profile, or find that it was begun. A loop does the rest."""
        erasure = await self._erasures.begin(to_id("profile_id", request.profile_id), self._clock())
        return erasure_pb2.EraseProfileResponse(erasure=erasure_message(erasure))

    async def GetErasure(
        self, request: erasure_pb2.GetErasureRequest, context: Context
    ) -> erasure_pb2.GetErasureResponse:
        """Read how far an erasure is."""
        erasure = await self._erasures.find(to_id("profile_id", request.profile_id))
        return erasure_pb2.GetErasureResponse(erasure=erasure_message(erasure))

    async def ListErasures(
        self, request: erasure_pb2.ListErasuresRequest, context: Context
    ) -> erasure_pb2.ListErasuresResponse:
        """List erasures, the newest first."""
        page = self._lists.page(caller().profile, "ListErasures", request)
        found = await self._erasures.newest(page.after, page.limit)
        shown, token = self._lists.cut(
            page, found, erasure_message, lambda last: (last.requested_at, last.profile_id)
        )
        return erasure_pb2.ListErasuresResponse(erasures=shown, next_page_token=token)

    async def ExportProfile(
        self, request: export_pb2.ExportProfileRequest, context: Context
    ) -> AsyncGenerator[export_pb2.ExportProfileResponse]:
        """Read everything that is kept of a profile."""
        profile_id = to_id("profile_id", request.profile_id)
        async with aclosing(self._exporter.export(caller().profile, profile_id, request.after)) as records:
            async for record in records:
                yield record

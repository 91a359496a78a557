"""``treering.access.v1.AccessService``."""

from __future__ import annotations

import os

from treering.access.v1 import access_service_pb2 as pb
from treering.access.v1 import access_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.data.pages import Pages
from libs.messages import of_quota, to_id, to_quota
from libs.rpc.caller import caller
from libs.rpc.chain import Context
from libs.rpc.lists import Lists
from services.gateway.access import wire
from services.gateway.access.keys import RANDOM_BYTES, issue
from services.gateway.access.store import Store


class AccessServicer(rpc.AccessServiceServicer):
    """Serves whoever runs the house. ``scopes`` are those that methods ask for.

    A profile whose quota does not say otherwise may have ``keys_max`` live keys.
    """

    def __init__(
        self, store: Store, clock: Clock, pages: Pages, scopes: frozenset[str], keys_max: int
    ) -> None:
        self._store = store
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

"""Where the catalogue is tried: one profile that remembers a little, and what it holds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from treering.access.v1 import access_service_pb2 as access_pb
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from tests.catalogue.doors import ACCESS, Door, Request, door
from tests.rig.house import Caller, House

SESSION = "<session>"
MEMORY = "<memory>"
PROFILE = "<profile>"


@dataclass(frozen=True, slots=True)
class Place:
    """A profile with an open session of one memory, and whoever runs the house."""

    caller: Caller
    admin: Caller
    session_id: str
    memory_id: str

    def door(self, name: str, rpc: str) -> Door:
        """The door to a method, as who may call it."""
        return door(name, self.admin if rpc in ACCESS else self.caller)

    def request(self, template: Request) -> dict[str, Any]:
        """A request with the ids of this place in it."""
        ids = {SESSION: self.session_id, MEMORY: self.memory_id, PROFILE: self.caller.profile_id}
        return {
            name: ids.get(value, value) if isinstance(value, str) else value
            for name, value in template.items()
        }

    async def holds(self) -> tuple[object, ...]:
        """Everything that a call could have added to: two that are equal, and nothing was written between."""
        access = self.admin.access
        own = access_pb.GetQuotaRequest(profile_id=self.caller.profile_id)
        stats, quota, profiles, keys = await asyncio.gather(
            self.caller.memory.GetStats(pb.GetStatsRequest()),
            access.GetQuota(own),
            access.ListProfiles(access_pb.ListProfilesRequest(page_size=1)),
            access.ListKeys(access_pb.ListKeysRequest(page_size=1)),
        )
        return stats, quota, *profiles.profiles, *keys.keys


async def settled(house: House) -> Place:
    """A new place."""
    caller = await house.caller()
    started = await caller.memory.StartSession(pb.StartSessionRequest(content_session_id="catalogue"))
    observed = await caller.memory.Observe(
        pb.ObserveRequest(
            session_id=started.session.id,
            content="The build needs make.",
            type=memory_pb2.OBSERVATION_TYPE_INSIGHT,
        )
    )
    return Place(caller, house.admin, started.session.id, observed.memory.id)

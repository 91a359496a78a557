"""Quotas of profiles: set by whoever runs the house, and what is said where one is used up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Any

import grpc
import pytest
from treering.access.v1 import access_service_pb2 as pb
from treering.access.v1 import quota_pb2

from tests.rig.house import Caller
from tests.rig.refusals import told

EFFECTIVE_SECONDS = 1.0
"""A quota holds within a second."""


async def allow(house: Caller, **limits: int) -> None:
    """Set the quota of a caller's profile, and wait until it has to hold."""
    request = pb.SetQuotaRequest(profile_id=house.profile_id, quota=quota_pb2.Quota(**limits))
    assert (await house.house.admin.access.SetQuota(request)).quota == request.quota
    await asyncio.sleep(EFFECTIVE_SECONDS)


async def another_key(house: Caller) -> Caller:
    """The same profile with another key."""
    request = pb.CreateKeyRequest(profile_id=house.profile_id, name="another")
    made = await house.house.admin.access.CreateKey(request)
    return house.house.open(house.profile_id, made.key.id, made.secret)


async def refused_with(call: Awaitable[object]) -> dict[str, str]:
    """What a refusal tells programs; it must not tell them to come back."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    details, info, _ = told(caught.value)
    assert (caught.value.code().name, info.reason) == ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
    assert not [each for each in details if each.type_url.endswith("RetryInfo")]
    return dict(info.metadata)


async def outcomes(calls: Sequence[Awaitable[Any]]) -> Counter[str]:
    """How many of some calls at once went well, and how many were refused for which reason."""
    answers = await asyncio.gather(*calls, return_exceptions=True)
    return Counter(
        told(answer)[1].reason if isinstance(answer, grpc.aio.AioRpcError) else str(type(answer).__name__)
        for answer in answers
    )

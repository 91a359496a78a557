"""Callers as services tell them to one another."""

from __future__ import annotations

import hmac
from hashlib import sha256
from uuid import UUID

import pytest
from treering.access.v1 import caller_context_pb2 as pb

from libs.clock import system_clock
from libs.quota import NOTHING_SET, Quota, allowed
from libs.rpc.caller import Caller, Signer, Source

KEY = bytes(32)
ONE = Caller(UUID(int=1), UUID(int=2), UUID(int=3), "key", frozenset({"memory:read"}), Source.MCP)
QUOTAS = (NOTHING_SET, Quota(0, 1, 2, 3), Quota(memories_max=10**15 - 1), Quota(clipboard_bytes_max=0))
signer = Signer(lambda _: KEY, system_clock)


@pytest.mark.parametrize("quota", QUOTAS, ids=str)
def test_a_quota_travels_with_the_caller(quota: Quota) -> None:
    """What was set arrives, 0 as 0, and what was not set arrives as not set."""
    who = Caller(ONE.owner, ONE.workspace, ONE.profile, ONE.key, ONE.scopes, ONE.source, quota)

    assert signer.read(signer.sign(who, "memory"), "memory") == who


def test_a_context_of_before_is_read() -> None:
    """Without a quota in it: the house's defaults hold."""
    content = pb.CallerContext.FromString(signer.sign(ONE, "memory")[32:])
    content.ClearField("quota")
    bare = content.SerializeToString()

    assert signer.read(hmac.digest(KEY, bare, sha256) + bare, "memory") == ONE


def test_a_quota_cannot_be_put_into_a_signed_context() -> None:
    """Bytes added behind the signature make it another's."""
    signed = signer.sign(ONE, "memory")
    widened = pb.CallerContext()
    widened.quota.memories_max = 10**9

    assert signer.read(signed + widened.SerializeToString(), "memory") is None


def test_ones_own_limit_goes_before_the_default() -> None:
    """Also when it is 0."""
    assert (allowed(None, 7), allowed(0, 7), allowed(9, 7)) == (7, 0, 9)

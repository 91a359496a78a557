"""Who calls. Services tell one another in a signed context, never in a plain header."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from functools import cache
from hashlib import sha256
from uuid import UUID

from google.protobuf.message import DecodeError
from treering.access.v1 import caller_context_pb2 as pb

from libs.clock import Clock
from libs.messages import of_quota, to_quota
from libs.quota import NOTHING_SET, Quota

CONTEXT_KEY = "x-treering-context-bin"
CONTEXT_SECONDS = 60
MAC_BYTES = 32
NOBODY = UUID(int=0)
INTERNAL = "internal"
ADMIN = "admin"
EVERYTHING = "*"
"""A scope that stands for every other one but ``admin`` and ``internal``."""


class Source(IntEnum):
    """The door that was used."""

    UI = 1
    SDK = 2
    MCP = 3
    GRPC = 4


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is served."""

    owner: UUID
    workspace: UUID
    profile: UUID
    key: str
    scopes: frozenset[str]
    source: Source
    quota: Quota = NOTHING_SET
    """What was set for the profile."""

    def may(self, scope: str) -> bool:
        """Whether a key with these scopes may do what asks for this one."""
        return scope in self.scopes or (EVERYTHING in self.scopes and scope not in (ADMIN, INTERNAL))


_current: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """The caller of the call that is being served."""
    return _current.get()


@contextmanager
def serving(who: Caller) -> Generator[None]:
    """Serve the block on behalf of a caller."""
    token = _current.set(who)
    try:
        yield
    finally:
        _current.reset(token)


class Signer:
    """Signs and reads caller contexts. Each audience has a key of its own."""

    def __init__(self, derive: Callable[[str], bytes], clock: Clock) -> None:
        """Take the master key's derivation and the clock that lifetimes are measured by."""
        self._clock = clock

        @cache  # a handful of services
        def key(audience: str) -> bytes:
            return derive(f"caller-context/{audience}")

        self._key = key

    def sign(self, who: Caller, audience: str) -> bytes:
        """A context for one audience, good for a minute."""
        context = pb.CallerContext(
            audience=audience,
            expires_at=int((self._clock() + timedelta(seconds=CONTEXT_SECONDS)).timestamp()),
            owner=who.owner.bytes,
            workspace=who.workspace.bytes,
            profile=who.profile.bytes,
            key=who.key,
            scopes=sorted(who.scopes),
            source=who.source,
            quota=of_quota(who.quota),
        )
        content = context.SerializeToString()
        return hmac.digest(self._key(audience), content, sha256) + content

    def read(self, signed: bytes, audience: str) -> Caller | None:
        """Who signed for this audience within the last minute. ``None`` for anything else."""
        mac, content = signed[:MAC_BYTES], signed[MAC_BYTES:]
        if not hmac.compare_digest(mac, hmac.digest(self._key(audience), content, sha256)):
            return None
        try:
            context = pb.CallerContext.FromString(content)
        except DecodeError:
            return None
        if context.audience != audience or context.expires_at <= self._clock().timestamp():
            return None
        return Caller(
            owner=UUID(bytes=context.owner),
            workspace=UUID(bytes=context.workspace),
            profile=UUID(bytes=context.profile),
            key=context.key,
            scopes=frozenset(context.scopes),
            source=Source(context.source),
            quota=to_quota(context.quota),
        )


def service_caller(name: str) -> Caller:
    """A service that calls for itself: it may use what is inside only, and owns nothing."""
    return Caller(NOBODY, NOBODY, NOBODY, f"service:{name}", frozenset({INTERNAL}), Source.GRPC)

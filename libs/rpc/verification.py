"""Whose key it is: asked of the gateway, remembered for half a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from uuid import UUID

import grpc
from cachetools import TTLCache
from treering.access.v1 import verification_service_pb2 as pb

from libs.errors import Missing, Problem, Unauthenticated, Unavailable
from libs.messages import to_quota
from libs.rpc.caller import Caller, Source

REMEMBERED_SECONDS = 0.5
"""Revoking a key and setting a quota must hold everywhere within a second."""
REMEMBERED_MAX = 10_000
SECRET_CHARS_MAX = 512
VERIFY_SECONDS = 5.0
BEARER = "bearer "

Ask = Callable[[pb.VerifyKeyRequest], Awaitable[pb.VerifyKeyResponse]]
"""Calls ``VerificationService.VerifyKey`` as a service."""


class ProfileGone(Missing):
    """The profile of this key has been erased."""

    reason = "PROFILE_NOT_FOUND"


class Verifier:
    """Turns an ``Authorization`` header into a caller."""

    def __init__(self, ask: Ask) -> None:
        """Take the way to ask the gateway."""
        self._ask = ask
        self._known: TTLCache[bytes, asyncio.Future[Caller]] = TTLCache(REMEMBERED_MAX, REMEMBERED_SECONDS)

    async def __call__(self, authorization: Sequence[str]) -> Caller:
        """The caller whose key was sent. ``Unauthenticated`` for none, two, or one that is not good.

        ``ProfileGone`` for the key of a profile that is being erased.
        """
        if len(authorization) != 1 or authorization[0][: len(BEARER)].lower() != BEARER:
            raise Unauthenticated
        secret = authorization[0][len(BEARER) :].strip()
        if not 0 < len(secret) <= SECRET_CHARS_MAX or not secret.isascii():
            raise Unauthenticated
        digest = sha256(secret.encode()).digest()
        known = self._known.get(digest)
        if known is None:
            # One question for any number of calls that come at once; a failure is remembered as well.
            known = self._known[digest] = asyncio.ensure_future(self._verify(secret))
            known.add_done_callback(_seen)
        return known.result() if known.done() else await asyncio.shield(known)

    async def _verify(self, secret: str) -> Caller:
        try:
            answer = await self._ask(pb.VerifyKeyRequest(secret=secret))
        except grpc.aio.AioRpcError as error:
            # `from None`: the request holds the secret, and must not be logged with a traceback.
            raise _told(error.code()) from None
        return Caller(
            owner=UUID(answer.owner_id),
            workspace=UUID(answer.workspace_id),
            profile=UUID(answer.profile_id),
            key=answer.key_id,
            scopes=frozenset(answer.scopes),
            source=Source.GRPC,
            quota=to_quota(answer.quota),
        )


def _told(code: grpc.StatusCode) -> Problem:
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.INVALID_ARGUMENT):
        return Unauthenticated()
    if code is grpc.StatusCode.NOT_FOUND:
        return ProfileGone()
    return Unavailable("Keys cannot be verified at the moment. Please try again.", retry_after=1)


def _seen(verified: asyncio.Future[Caller]) -> None:
    """A failure that nobody waits for any more is not worth a warning."""
    if not verified.cancelled():
        verified.exception()

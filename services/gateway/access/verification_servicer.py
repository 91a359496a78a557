"""``treering.access.v1.VerificationService``."""

from __future__ import annotations

from treering.access.v1 import verification_service_pb2 as pb
from treering.access.v1 import verification_service_pb2_grpc as rpc

from libs.clock import Clock
from libs.rpc.chain import Context
from services.gateway.access import wire
from services.gateway.access.keys import parse, verify
from services.gateway.access.store import Store


class VerificationServicer(rpc.VerificationServiceServicer):
    """Serves services that were shown a key."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def VerifyKey(self, request: pb.VerifyKeyRequest, context: Context) -> pb.VerifyKeyResponse:
        """Read whom a secret stands for."""
        presented = parse(request.secret)
        found = await self._store.find_grant(presented.id)
        return wire.verified_message(verify(presented, found, self._clock()))

"""The services that keep something of profiles: each that offers a ``ProfileDataService``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID, uuid4

import grpc
import structlog
from google.protobuf.message import Message

from libs.data.erasing import Erased
from libs.errors import TimedOut, Unavailable
from libs.rpc.caller import service_caller
from libs.rpc.channels import Remote
from libs.rpc.methods import audience_of
from services.gateway.catalog import Catalog, Method

ERASE = "EraseProfileData"
EXPORT = "ExportProfileData"
ERASE_SECONDS = 20.0
EXPORT_SECONDS = 60.0
RETRY_SECONDS = 1.0
CALLER = "access"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Keeper:
    """One service, and the way to it."""

    name: str
    """By which receipts and exports know it, e.g. ``memory``."""
    erases: Method
    exports: Method
    remote: Callable[[str], Remote]

    async def erase(self, profile: UUID) -> Erased:
        """Have some of a profile deleted. ``grpc.aio.AioRpcError`` if the service is away."""
        told: Any = await self.remote(self.name).call(
            self.erases.path,
            self.erases.request(profile_id=str(profile)),
            self.erases.response.FromString,
            caller=service_caller(CALLER),
            request_id=uuid4().hex,
            timeout=ERASE_SECONDS,
        )
        return Erased(told.rows_deleted, told.keys_destroyed, told.remaining)

    async def export(self, profile: UUID, after: str) -> AsyncGenerator[tuple[str, str, Message]]:
        """What is kept of a profile: each record's mark, its kind, and the record.

        Raises ``Unavailable`` if the service is away, ``TimedOut`` if it takes too long.
        """
        answers = self.remote(self.name).stream(
            self.exports.path,
            self.exports.request(profile_id=str(profile), after=after),
            self.exports.response.FromString,
            caller=service_caller(CALLER),
            request_id=uuid4().hex,
            timeout=EXPORT_SECONDS,
        )
        try:
            async with aclosing(cast(AsyncGenerator[Any], answers)) as records:
                async for answer in records:
                    kind = answer.WhichOneof("record")
                    yield answer.next, kind, getattr(answer, kind)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TimedOut from None
            log.warning("export.cut", service=self.name, code=error.code().name)
            raise Unavailable(retry_after=RETRY_SECONDS) from None


def keepers(catalog: Catalog, remote: Callable[[str], Remote]) -> tuple[Keeper, ...]:
    """Every service that keeps something, in the order of their names."""
    by_rpc = {(audience_of(method.service), method.name): method for method in catalog.methods}
    names = sorted(name for name, rpc in by_rpc if rpc == ERASE)
    return tuple(Keeper(name, by_rpc[name, ERASE], by_rpc[name, EXPORT], remote) for name in names)

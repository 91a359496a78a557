"""ProfileDataService: unwrap, call, wrap."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import grpc
from treering.decay.v1 import profile_data_service_pb2 as pb
from treering.decay.v1 import profile_data_service_pb2_grpc as rpc

from libs.data.erasing import Eraser
from libs.data.walking import walked
from libs.messages import to_id
from services.decay.ageing.wire import of_sweep
from services.decay.profile_data.export import Export

Context = grpc.aio.ServicerContext[Any, Any]


class ProfileDataServicer(rpc.ProfileDataServiceServicer):
    """Erases and exports sweeps."""

    def __init__(self, eraser: Eraser, export: Export) -> None:
        self._eraser = eraser
        self._export = export

    async def EraseProfileData(
        self, request: pb.EraseProfileDataRequest, context: Context
    ) -> pb.EraseProfileDataResponse:
        """Destroy a profile's keys and delete some of its rows."""
        erased = await self._eraser.erase(to_id("profile_id", request.profile_id))
        return pb.EraseProfileDataResponse(
            rows_deleted=erased.rows, keys_destroyed=erased.keys, remaining=erased.remaining
        )

    async def ExportProfileData(
        self, request: pb.ExportProfileDataRequest, context: Context
    ) -> AsyncGenerator[pb.ExportProfileDataResponse]:
        """Read what sweeps did to a profile."""
        walks = self._export.of(to_id("profile_id", request.profile_id))
        async for mark, _, sweep in walked(walks, request.after):
            yield pb.ExportProfileDataResponse(next=mark, sweep=of_sweep(sweep))

"""What a refused call says."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, cast

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.rpc import error_details_pb2
from grpc_status import rpc_status


async def refused(call: Awaitable[object]) -> tuple[str, str, list[str]]:
    """Code, reason, and the fields that are named, of a call that has to fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    _, info, bad = told(caught.value)
    return caught.value.code().name, info.reason, [each.field for each in bad.field_violations]


def told(
    error: grpc.aio.AioRpcError,
) -> tuple[Sequence[Packed], error_details_pb2.ErrorInfo, error_details_pb2.BadRequest]:
    """All details of a status, and what two of them say."""
    status = rpc_status.from_call(cast(Any, error))
    assert status
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for packed in status.details:
        packed.Unpack(info)
        packed.Unpack(bad)
    return status.details, info, bad

"""What is answered about an id that is somebody else's, so that it can be compared with that about none."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from tests.catalogue.doors import METHODS, Request, door, message
from tests.rig.house import Caller


async def told(caller: Caller, way: str, rpc: str, request: Request, one: str) -> str:
    """What a door answers to a request about an id, without the id itself."""
    if way == "grpc":
        answer: object = await over_grpc(caller, rpc, message(rpc, request))
    else:
        answer = asdict(await door(way, caller).call(rpc, request))
    return repr(answer).replace(one, "<id>")


async def over_grpc(caller: Caller, rpc: str, request: Message) -> object:
    """An answer, or code, words, trailers and details of a refusal; without what differs with each call."""
    method, channel = METHODS[rpc], caller.channel
    made: Any = channel.unary_stream if method.streams else channel.unary_unary
    call = made(method.path, method.request.SerializeToString, method.response.FromString)(request)
    try:
        return await (call.read() if method.streams else call)
    except grpc.aio.AioRpcError as error:
        status = rpc_status.from_call(cast(Any, error))
        assert status
        details = [each for each in status.details if not each.Is(error_details_pb2.RequestInfo.DESCRIPTOR)]
        trailers = sorted(key for key, _ in error.trailing_metadata() or ())
        return error.code(), error.details(), status.code, status.message, details, trailers

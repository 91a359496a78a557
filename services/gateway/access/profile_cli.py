"""``treering erase`` and ``treering export``: a profile's end, and its copy, by whoever has the machine."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from typing import TypeVar, cast
from uuid import uuid4

import grpc
import orjson
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from treering.access.v1 import access_service_pb2, erasure_pb2, export_pb2

from libs.rpc.caller import ADMIN, NOBODY, Caller, Source
from libs.rpc.channels import Remote
from services.gateway.transcoding.writing import writer

SERVICE = "/treering.access.v1.AccessService/"
COMMAND = Caller(NOBODY, NOBODY, NOBODY, "command", frozenset({ADMIN}), Source.GRPC)
CALL_SECONDS = 20.0
STREAM_SECONDS = 60.0
LOOK_SECONDS = 0.5
RETRY_SECONDS = 1.0
CUTS_MAX = 30
"""So often in a row may a stream be cut without a record."""
CUT = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
YES = "yes"

Answer = TypeVar("Answer", bound=Message)


def add_erase_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe ``treering erase``."""
    parser.add_argument("profile_id", help="as ListProfiles shows it, or `treering key list`")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe ``treering export``."""
    parser.add_argument("profile_id", help="as ListProfiles shows it, or `treering key list`")


async def erase(args: argparse.Namespace, gateway: Remote) -> int:
    """Erase a profile and wait for the end of it. 0: erased, 1: it cannot be, or was not confirmed."""
    try:
        erasure = await _found(gateway, args.profile_id)
        if erasure is None:
            if not args.yes and not await _confirmed(gateway, args.profile_id):
                return _refused("erase", "Nothing was erased.")
            request = erasure_pb2.EraseProfileRequest(profile_id=args.profile_id)
            erasure = (await _call(gateway, request, erasure_pb2.EraseProfileResponse)).erasure
        erasure = await _ended(gateway, erasure)
    except grpc.aio.AioRpcError as error:
        return _refused("erase", error.details())
    print(f"Erased {erasure.profile_id}.")
    print("\n".join(f"  {_told(receipt)}" for receipt in erasure.receipts))
    print(f"What remains: {erasure.remains}")
    return 0


async def export(args: argparse.Namespace, gateway: Remote) -> int:
    """Write a profile on standard output, a JSON object a line. 0: all of it, 1: it cannot be had whole."""
    write = writer(cast(Descriptor, export_pb2.ExportProfileResponse.DESCRIPTOR))
    after, records, cuts = "", 0, 0
    while cuts <= CUTS_MAX:
        try:
            async for record in _records(gateway, args.profile_id, after):
                sys.stdout.buffer.write(orjson.dumps(_line(write(record))) + b"\n")
                after, records, cuts = record.next, records + 1, 0
                if record.HasField("trailer"):
                    sys.stdout.buffer.flush()
                    print(f"Exported {records} records.", file=sys.stderr)
                    return 0
        except grpc.aio.AioRpcError as error:
            if error.code() not in CUT:
                return _refused("export", error.details())
        cuts += 1
        print(f"{records} records so far; the stream was cut and is gone on with.", file=sys.stderr)
        await asyncio.sleep(RETRY_SECONDS)
    return _refused("export", "The house does not answer any more. What was written is not all.")


async def _ended(gateway: Remote, erasure: erasure_pb2.Erasure) -> erasure_pb2.Erasure:
    """The erasure at its end, told about until then."""
    told = ""
    while erasure.state != erasure_pb2.ERASURE_STATE_ERASED:
        now = "; ".join(_told(receipt) for receipt in erasure.receipts) or "begun"
        if now != told:
            print(f"Erasing: {now}.", file=sys.stderr)
            told = now
        await asyncio.sleep(LOOK_SECONDS)
        erasure = await _found(gateway, erasure.profile_id) or erasure
    return erasure


def _told(receipt: erasure_pb2.ErasureReceipt) -> str:
    gone = f"{receipt.rows_deleted} rows and {receipt.keys_destroyed} data keys gone"
    return f"{receipt.service}: {gone}" + (f", {receipt.remaining} to go" if receipt.remaining else "")


async def _confirmed(gateway: Remote, profile_id: str) -> bool:
    request = access_service_pb2.GetProfileRequest(profile_id=profile_id)
    profile = (await _call(gateway, request, access_service_pb2.GetProfileResponse)).profile
    names = f"{profile.owner}/{profile.workspace}/{profile.profile}"
    print(f"Erase {names} with all that it remembers? There is no way back. Type {YES}: ", file=sys.stderr)
    return (await asyncio.to_thread(sys.stdin.readline)).strip() == YES


async def _found(gateway: Remote, profile_id: str) -> erasure_pb2.Erasure | None:
    request = erasure_pb2.GetErasureRequest(profile_id=profile_id)
    try:
        return (await _call(gateway, request, erasure_pb2.GetErasureResponse)).erasure
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return None


async def _call(gateway: Remote, request: Message, answer: type[Answer]) -> Answer:
    """Call the method that a request is named after."""
    told = await gateway.call(
        SERVICE + type(request).__name__.removesuffix("Request"),
        request,
        answer.FromString,
        caller=COMMAND,
        request_id=uuid4().hex,
        timeout=CALL_SECONDS,
    )
    return cast(Answer, told)


def _records(gateway: Remote, profile_id: str, after: str) -> AsyncIterator[export_pb2.ExportProfileResponse]:
    answers = gateway.stream(
        f"{SERVICE}ExportProfile",
        export_pb2.ExportProfileRequest(profile_id=profile_id, after=after),
        export_pb2.ExportProfileResponse.FromString,
        caller=COMMAND,
        request_id=uuid4().hex,
        timeout=STREAM_SECONDS,
    )
    return cast(AsyncIterator[export_pb2.ExportProfileResponse], answers)


def _line(written: dict[str, object]) -> dict[str, object]:
    """A record as REST writes it, but for the token that goes on after it."""
    return {name: value for name, value in written.items() if name != "next"}


def _refused(verb: str, why: str | None) -> int:
    print(f"treering {verb}: {why}", file=sys.stderr)
    return 1

"""``treering decay forecast | sweep``: the coming year of a profile, and a sweep with its progress."""

from __future__ import annotations

import argparse
import calendar
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from treering.decay.v1 import decay_pb2
from treering.decay.v1 import decay_service_pb2 as pb
from treering.decay.v1 import decay_service_pb2_grpc as rpc

from libs.messages import of_time
from libs.refusal import Refused
from services.decay.ageing.chart import chart
from services.decay.ageing.wire import to_outlook

MONTHS = 12
MONTHS_MAX = 48
SWEEPS_MAX = 10_000
"""Twenty million memories."""
CALL_SECONDS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the verbs of ``treering decay``."""
    verbs = parser.add_subparsers(dest="decay_verb", required=True, metavar="forecast|sweep")
    forecast = verbs.add_parser("forecast", help="draw where a profile's memories will stand")
    forecast.add_argument(
        "--months", type=_months, default=MONTHS, help=f"1 to {MONTHS_MAX} (default: {MONTHS})"
    )
    sweep = verbs.add_parser("sweep", help="move what is due now, until nothing is left")
    for verb in (forecast, sweep):
        verb.add_argument(
            "--key-file", type=Path, metavar="FILE", help="a key of the profile (default: the first key)"
        )


async def run(args: argparse.Namespace, address: str, first_key: Path, now: datetime) -> int:
    """Do what the arguments say, against a house that is open. Answers the exit code."""
    async with _decay(address, args.key_file or first_key) as (stub, metadata):
        if args.decay_verb == "forecast":
            dates = [of_time(now), *_months_from(now, args.months)]
            told = await stub.Forecast(pb.ForecastRequest(at=dates), metadata=metadata, timeout=CALL_SECONDS)
            print("\n".join(chart([to_outlook(each) for each in told.outlooks])))
            return 0
        for _ in range(SWEEPS_MAX):
            told = await stub.Sweep(pb.SweepRequest(), metadata=metadata, timeout=CALL_SECONDS)
            print(_progress(told.sweep), flush=True)
            if told.sweep.complete:
                return 0
    return 1


@asynccontextmanager
async def _decay(
    address: str, key_file: Path
) -> AsyncGenerator[tuple[rpc.DecayServiceStub, tuple[tuple[str, str], ...]]]:
    key = _read(key_file)
    async with grpc.aio.insecure_channel(address) as channel:
        try:
            yield rpc.DecayServiceStub(channel), (("authorization", f"Bearer {key}"),)
        except grpc.aio.AioRpcError as error:
            raise Refused(error.details() or f"The house at {address} does not answer.") from None


def _read(key_file: Path) -> str:
    try:
        return key_file.read_text().strip()
    except OSError:
        raise Refused(f"There is no key in {key_file}. Name a file with one: --key-file FILE.") from None


def _progress(sweep: decay_pb2.Sweep) -> str:
    parts = {
        "compressed": sweep.compressed_count,
        "to a summary": sweep.summary_count,
        "to their essence": sweep.essence_count,
        "forgotten": sweep.forgotten_count,
        "failed": sweep.failed_count + sweep.set_aside_count,
    }
    moved = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
    end = "done" if sweep.complete else "going on"
    return f"{moved or 'nothing is due'}; {sweep.tokens_freed:,} tokens freed; {end}"


def _months_from(now: datetime, months: int) -> Iterator[Timestamp]:
    """The same day of the next months, or their last."""
    for number in range(now.month, now.month + months):
        year, month = now.year + number // 12, number % 12 + 1
        day = min(now.day, calendar.monthrange(year, month)[1])
        yield of_time(datetime(year, month, day, now.hour, now.minute, now.second, tzinfo=UTC))


def _months(text: str) -> int:
    months = int(text) if text.isdecimal() else 0
    if not 1 <= months <= MONTHS_MAX:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {MONTHS_MAX}")
    return months

"""Times as messages tell them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from libs.errors import invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS_MIN = -62_135_596_800
"""0001-01-01T00:00:00Z."""
SECONDS_MAX = 253_402_300_799
"""9999-12-31T23:59:59Z."""
NANOS_MAX = 999_999_999
EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta.resolution
LATEST = datetime.max.replace(tzinfo=UTC) - timedelta.resolution
"""The database driver takes the first and the last microsecond for infinite."""


def to_time(field: str, stamp: Timestamp) -> datetime:
    """A time to the microsecond, from year 1 to 9999."""
    if not SECONDS_MIN <= stamp.seconds <= SECONDS_MAX:
        raise invalid(field, "must be in the years 1 to 9999", "timestamp.range")
    if not 0 <= stamp.nanos <= NANOS_MAX:
        raise invalid(field, f"must have nanos from 0 to {NANOS_MAX}", "timestamp.nanos")
    moment = EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)
    return min(max(moment, EARLIEST), LATEST)


def of_time(moment: datetime) -> Timestamp:
    """A time as a message."""
    since = moment - EPOCH
    return Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1000)

"""What every message is made of: ids, times, quotas and sizes, as plain values and as messages tell them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from treering.access.v1 import quota_pb2

from libs.errors import Invalid, invalid
from libs.quota import Quota

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS_MIN = -62_135_596_800
"""0001-01-01T00:00:00Z."""
SECONDS_MAX = 253_402_300_799
"""9999-12-31T23:59:59Z."""
NANOS_MAX = 999_999_999
EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta.resolution
LATEST = datetime.max.replace(tzinfo=UTC) - timedelta.resolution
"""The database driver takes the first and the last microsecond for infinite."""
FRAME_BYTES = 8
"""Around each of several messages inside another, at most."""
MESSAGE_BYTES_MAX = 3_670_016
"""3.5 MiB: what the transport adds still fits into 4 MiB."""


def to_id(field: str, text: str) -> UUID:
    """An id in its one spelling: 36 characters, in any case."""
    try:
        found = UUID(text)
    except ValueError:
        raise _not_an_id(field) from None
    if str(found) != text.lower():
        raise _not_an_id(field)
    return found


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


def to_quota(message: quota_pb2.Quota) -> Quota:
    """A quota; what is absent is not set."""
    return Quota(**{field.name: limit for field, limit in message.ListFields()})


def of_quota(quota: Quota) -> quota_pb2.Quota:
    """A quota as a message."""
    return quota_pb2.Quota(
        memories_max=quota.memories_max,
        clipboard_entries_max=quota.clipboard_entries_max,
        clipboard_bytes_max=quota.clipboard_bytes_max,
        keys_max=quota.keys_max,
        runs_max=quota.runs_max,
        results_max=quota.results_max,
        results_bytes_max=quota.results_bytes_max,
    )


def fitting(messages: Sequence[Message]) -> int:
    """How many of some messages fit into one answer, from the first; at least one."""
    size = 0
    for at, message in enumerate(messages):
        size += message.ByteSize() + FRAME_BYTES
        if size > MESSAGE_BYTES_MAX and at:
            return at
    return len(messages)


def _not_an_id(field: str) -> Invalid:
    return invalid(field, "must be a UUID of 36 characters", "string.uuid")

"""Messages of ``treering.clipboard.v1`` and what they mean here."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from treering.clipboard.v1 import clipboard_pb2
from treering.clipboard.v1 import clipboard_service_pb2 as pb

from libs.messages import of_time, to_id
from services.clipboard.entries.drafts import CONTENT_TYPE, TTL_SECONDS, Raw
from services.clipboard.entries.entry import Entry, Visibility
from services.clipboard.entries.quota import Quota, Usage
from services.clipboard.entries.values import Encoding


def to_raw(request: pb.SetRequest | pb.PushRequest) -> Raw:
    """What is to be put in, with the defaults of what was not given."""
    return Raw(
        value=request.value,
        content_type=request.content_type if request.HasField("content_type") else CONTENT_TYPE,
        encoding=request.encoding if request.HasField("encoding") else Encoding.UTF_8,
        visibility=Visibility(request.visibility) if request.visibility else Visibility.PRIVATE,
        ttl_seconds=request.ttl_seconds if request.HasField("ttl_seconds") else TTL_SECONDS,
        tool=request.created_by_tool,
        model=request.created_by_model,
    )


def to_profile(text: str, own: UUID) -> UUID:
    """Whose clipboard is meant."""
    return to_id("profile_id", text) if text else own


def of_entry(entry: Entry) -> clipboard_pb2.Entry:
    """An entry."""
    labels = entry.labels
    return clipboard_pb2.Entry(
        id=str(entry.id),
        name=labels.name,
        depth=entry.depth,
        position=entry.position,
        value=entry.value or "",
        value_omitted=entry.value is None,
        content_type=labels.content_type,
        encoding=entry.encoding,
        size_bytes=entry.size_bytes,
        visibility=cast(clipboard_pb2.Visibility, entry.visibility),
        created_by_tool=labels.tool,
        created_by_model=labels.model,
        source=cast(clipboard_pb2.Source, entry.source),
        created_at=of_time(entry.created_at),
        updated_at=of_time(entry.updated_at),
        expires_at=of_time(entry.expires_at),
    )


def of_usage(usage: Usage, quota: Quota) -> pb.GetUsageResponse:
    """What there is beside what there may be."""
    return pb.GetUsageResponse(
        entry_count=usage.entries,
        entries_max=quota.entries,
        size_bytes=usage.bytes,
        bytes_max=quota.bytes,
    )

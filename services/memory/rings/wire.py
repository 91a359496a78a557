"""Messages of changes, and what they mean here."""

from __future__ import annotations

from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.messages import of_time
from services.memory.rings.revisions import Revision, Rewrite


def to_rewrite(request: pb.ReviseRequest) -> Rewrite:
    """What a memory is to say."""
    return Rewrite(request.content, request.from_version, request.expected_version)


def of_revision(revision: Revision) -> memory_pb2.Version:
    """A version."""
    return memory_pb2.Version(
        version=revision.number,
        content=revision.content,
        content_tokens=revision.content_tokens,
        created_at=of_time(revision.created_at),
        current=revision.current,
    )

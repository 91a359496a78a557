"""What is exported of memories, as messages."""

from __future__ import annotations

from treering.memory.v1 import profile_data_service_pb2 as pb

from services.memory.memories.memory import Memory
from services.memory.memories.wire import of_memory
from services.memory.sessions.reports import ZReport
from services.memory.sessions.session import Session
from services.memory.sessions.wire import of_report, of_session


def of_record(mark: str, found: Session | Memory | ZReport) -> pb.ExportProfileDataResponse:
    """One thing that is kept, and the mark to go on after it."""
    match found:
        case Session():
            return pb.ExportProfileDataResponse(next=mark, session=of_session(found))
        case Memory():
            return pb.ExportProfileDataResponse(next=mark, memory=of_memory(found, whole=True))
        case ZReport():
            return pb.ExportProfileDataResponse(next=mark, z_report=of_report(found))

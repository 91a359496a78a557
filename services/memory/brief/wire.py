"""Messages of briefs, and what they mean here."""

from __future__ import annotations

from treering.memory.v1 import memory_service_pb2 as pb

from services.memory.brief.briefing import TOKEN_BUDGET, Brief


def to_budget(request: pb.BriefRequest) -> int:
    """The tokens that the whole answer may have."""
    return request.token_budget if request.HasField("token_budget") else TOKEN_BUDGET


def of_brief(brief: Brief, degraded: bool) -> pb.BriefResponse:
    """A brief."""
    return pb.BriefResponse(
        text=brief.text, tokens=brief.tokens, entry_count=len(brief.entries), degraded=degraded
    )

"""Messages of sessions and Z-reports, and what they mean here."""

from __future__ import annotations

from typing import cast

from treering.memory.v1 import session_pb2

from libs.messages import of_time
from services.memory.sessions.reports import ZReport
from services.memory.sessions.session import Session

UINT32_MAX = 2**32 - 1


def of_session(session: Session) -> session_pb2.Session:
    """A session."""
    return session_pb2.Session(
        id=str(session.id),
        content_session_id=session.name,
        agent_id=session.agent,
        state=cast(session_pb2.SessionState, session.state),
        observation_count=session.observation_count,
        total_tokens=counted(session.total_tokens),
        started_at=of_time(session.started_at),
        active_at=of_time(session.active_at),
        ended_at=of_time(session.ended_at) if session.ended_at else None,
    )


def of_report(report: ZReport) -> session_pb2.ZReport:
    """A Z-report."""
    told, totals = report.told, report.totals
    return session_pb2.ZReport(
        session_id=str(report.session_id),
        summary=told.summary,
        key_observations=told.key_observations,
        decisions=told.decisions,
        tools_used=[
            session_pb2.ToolUse(
                name=use.name,
                uses=use.uses,
                successes=use.successes,
                failures=use.failures,
                last_result=use.last_result,
            )
            for use in told.tools
        ],
        success_rate=report.success_rate,
        observation_count=counted(totals.observations),
        success_count=counted(totals.successes),
        failure_count=counted(totals.failures),
        summary_tokens=report.summary_tokens,
        created_at=of_time(report.created_at),
        z_report_memory_id=str(report.memory_id) if report.memory_id else "",
    )


def counted(count: int) -> int:
    """A count as the contract can tell it."""
    return min(count, UINT32_MAX)

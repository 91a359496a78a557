"""Rows of sessions and Z-reports: sealed on the way in, opened on the way out."""

from __future__ import annotations

from uuid import UUID

import orjson

from libs.data.keyring import ProfileKeys
from libs.data.postgres import Row
from services.memory.memories.rings import Outcome, Type
from services.memory.memories.rows import FIRST_VERSION, essence_of, metadata_of
from services.memory.sessions.reports import Noted, Told, ToolUse, Totals, ZReport
from services.memory.sessions.session import Session, SessionState


def noted_of(keys: ProfileKeys, row: Row) -> Noted:
    """What a Z-report reads of a memory."""
    return Noted(
        type=Type(row["type"]),
        outcome=Outcome(row["outcome"]),
        text=essence_of(keys, row),
        tool=metadata_of(keys, row).tool,
        observed=row["observed"],
        successes=row["successes"],
        failures=row["failures"],
    )


def session_of(keys: ProfileKeys, row: Row) -> Session:
    """A row of ``memory.session``."""

    def opened(column: str) -> str:
        sealed: bytes | None = row[f"{column}_sealed"]
        return (
            ""
            if sealed is None
            else keys.open(f"session.{column}", row["id"], FIRST_VERSION, sealed).decode()
        )

    return Session(
        id=row["id"],
        name=opened("name"),
        agent=opened("agent"),
        state=SessionState(row["state"]),
        observation_count=row["observation_count"],
        total_tokens=row["total_tokens"],
        started_at=row["started_at"],
        active_at=row["active_at"],
        ended_at=row["ended_at"],
    )


def seal_session(keys: ProfileKeys, column: str, session_id: UUID, text: str) -> bytes:
    """A name for its place in ``memory.session``."""
    return keys.seal(f"session.{column}", session_id, FIRST_VERSION, text.encode())


def seal_report(keys: ProfileKeys, report: ZReport) -> bytes:
    """The words and numbers of a report."""
    told, totals = report.told, report.totals
    body = orjson.dumps(
        {
            "summary": told.summary,
            "summary_tokens": report.summary_tokens,
            "key_observations": told.key_observations,
            "decisions": told.decisions,
            "tools": [
                (use.name, use.uses, use.successes, use.failures, use.last_result) for use in told.tools
            ],
            "totals": (totals.observations, totals.successes, totals.failures),
        }
    )
    return keys.seal("z_report.body", report.session_id, FIRST_VERSION, body)


def report_of(keys: ProfileKeys, row: Row) -> ZReport:
    """A row of ``memory.z_report``."""
    body = orjson.loads(keys.open("z_report.body", row["session_id"], FIRST_VERSION, row["body_sealed"]))
    told = Told(
        summary=body["summary"],
        key_observations=tuple(body["key_observations"]),
        decisions=tuple(body["decisions"]),
        tools=tuple(ToolUse(*use) for use in body["tools"]),
    )
    return ZReport(
        row["session_id"],
        row["created_at"],
        told,
        Totals(*body["totals"]),
        body["summary_tokens"],
        row["memory_id"],
    )

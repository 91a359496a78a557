"""What a function of the schema ``results`` answers when it does not do what it was asked: one table."""

from __future__ import annotations

from libs.data.postgres import Row
from services.results.results.result import ResultConflict, ResultExpired, ResultNotReady, ResultUnknown
from services.results.results.streams import UploadGone
from services.results.results.turns import TurnConflict, TurnOutOfOrder
from services.results.runs.quota import Quota
from services.results.runs.run import RunCancelled


def put(row: Row, quota: Quota) -> Row:
    """The row of a result that was put. Raises the problem that it tells of instead."""
    match row["verdict"]:
        case "conflict":
            raise ResultConflict.of(row["attempt"])
        case "gone":
            raise UploadGone
        case verdict:
            return _written(row, verdict, quota)


def appended(row: Row, quota: Quota) -> Row:
    """The row of a turn that was appended. Raises the problem that it tells of instead."""
    match row["verdict"]:
        case "conflict":
            raise TurnConflict
        case "early":
            raise TurnOutOfOrder.before(row["number"])
        case verdict:
            return _written(row, verdict, quota)


def read(row: Row) -> Row:
    """The row of what was read. Raises the problem that it tells of instead."""
    match row["verdict"]:
        case "not_ready":
            raise ResultNotReady
        case "expired":
            raise ResultExpired
        case "unknown":
            raise ResultUnknown
        case "cancelled":
            raise RunCancelled
        case _:
            return row


def _written(row: Row, verdict: str, quota: Quota) -> Row:
    if verdict == "cancelled":
        raise RunCancelled
    quota.check(verdict)
    return row

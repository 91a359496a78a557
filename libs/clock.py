"""Time comes in as an argument; this is where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Answers the present, aware and in UTC."""


def system_clock() -> datetime:
    """The present by this machine's clock."""
    return datetime.now(UTC)

"""How much a profile may keep, and what is said when it keeps that much."""

from __future__ import annotations

from dataclasses import dataclass

from libs import errors

LIMIT_MAX = 10**15 - 1
"""15 digits: so many every reader of JSON holds."""


class QuotaExceeded(errors.TooMuch):
    """The profile holds as much as it may. Delete something, or ask for a larger quota."""

    reason = "QUOTA_EXCEEDED"


@dataclass(frozen=True, slots=True)
class Quota:
    """What was set for a profile. ``None``: the house's default holds; 0: nothing may be added."""

    memories_max: int | None = None
    clipboard_entries_max: int | None = None
    clipboard_bytes_max: int | None = None
    keys_max: int | None = None
    runs_max: int | None = None
    results_max: int | None = None
    results_bytes_max: int | None = None


NOTHING_SET = Quota()


def allowed(own: int | None, default: int) -> int:
    """The limit that holds: the profile's own, or the house's default."""
    return default if own is None else own

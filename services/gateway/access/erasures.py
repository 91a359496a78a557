"""Erasures: what is to be done next about a profile that is to leave nothing behind.

Each service that keeps something is emptied twice: at once, so that nothing can be read any more, and again
when no call that was let in before can be under way, so that nothing of such a call stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from libs import errors

PASSES = 2
RETRY_SECONDS = 1.0
RETRY_SECONDS_MAX = 60.0
REMAINS = (
    "Encrypted copies in backups made before the erasure, until these are deleted; "
    "unreadable wherever the data keys that were destroyed are not restored with them."
)


class ErasureNotFound(errors.Missing):
    """The profile with this id was never erased."""

    reason = "ERASURE_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one service has deleted."""

    service: str
    passes: int
    """How often it was emptied."""
    rows_deleted: int
    keys_destroyed: int
    remaining: int
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Erasure:
    """The end of a profile."""

    profile_id: UUID
    requested_at: datetime
    completed_at: datetime | None = None
    failures: int = 0
    """How often in a row something was away."""
    receipts: Mapping[str, Receipt] = field(default_factory=dict[str, Receipt])
    """By service, in the order of their names."""

    def passes(self, service: str) -> int:
        """How often a service was emptied."""
        receipt = self.receipts.get(service)
        return receipt.passes if receipt else 0


def due(erasure: Erasure, services: Sequence[str], settle: timedelta, now: datetime) -> Mapping[str, int]:
    """The services to empty now, and for which time; none while calls may be under way, or all is done."""
    first = {service: 1 for service in services if erasure.passes(service) < 1}
    if first or now < erasure.requested_at + settle:
        return first
    return {service: PASSES for service in services if erasure.passes(service) < PASSES}


def is_emptied(erasure: Erasure, services: Sequence[str]) -> bool:
    """Whether no service keeps anything, nor can again."""
    return all(erasure.passes(service) >= PASSES for service in services)


def next_at(
    erasure: Erasure, services: Sequence[str], settle: timedelta, now: datetime, *, failed: bool
) -> datetime:
    """When to go on with an erasure that is not at its end."""
    if failed:
        doubled = RETRY_SECONDS * 2.0 ** min(erasure.failures, 10)
        return now + timedelta(seconds=min(doubled, RETRY_SECONDS_MAX))
    if due(erasure, services, settle, now) or is_emptied(erasure, services):
        return now
    return erasure.requested_at + settle

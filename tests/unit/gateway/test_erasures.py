"""What is due of an erasure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from services.gateway.access.erasures import Erasure, Receipt, due, is_emptied, next_at

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
SETTLE = timedelta(seconds=65)
SETTLED = NOW + SETTLE
INSTANT = timedelta(microseconds=1)
SERVICES = ("clipboard", "memory")


def erasure(failures: int = 0, **passes: int) -> Erasure:
    """One that was asked for now, with so many passes of each service."""
    receipts = {name: Receipt(name, done, 0, 0, 0, None) for name, done in passes.items()}
    return Erasure(UUID(int=1), NOW, failures=failures, receipts=receipts)


@pytest.mark.parametrize(
    ("passes", "now", "expected"),
    [
        ({}, NOW, {"clipboard": 1, "memory": 1}),
        ({"clipboard": 1}, NOW, {"memory": 1}),
        ({"clipboard": 1}, SETTLED, {"memory": 1}),
        ({"clipboard": 1, "memory": 1}, SETTLED - INSTANT, {}),
        ({"clipboard": 1, "memory": 1}, SETTLED, {"clipboard": 2, "memory": 2}),
        ({"clipboard": 2, "memory": 1}, SETTLED, {"memory": 2}),
        ({"clipboard": 2, "memory": 0}, SETTLED, {"memory": 1}),
        ({"clipboard": 2, "memory": 2}, SETTLED, {}),
    ],
)
def test_every_service_twice_and_calls_between(
    passes: dict[str, int], now: datetime, expected: dict[str, int]
) -> None:
    """All are emptied at once; again only when no call from before can be under way."""
    assert due(erasure(**passes), SERVICES, SETTLE, now) == expected


def test_it_is_at_its_end_when_all_are() -> None:
    """One pass is not enough, nor is one service."""
    assert not is_emptied(erasure(clipboard=2, memory=1), SERVICES)
    assert not is_emptied(erasure(clipboard=2), SERVICES)
    assert is_emptied(erasure(clipboard=2, memory=2), SERVICES)


def test_it_is_gone_on_with_when_something_is_due() -> None:
    """At once where there is more to do, else when calls are over."""
    assert next_at(erasure(clipboard=1), SERVICES, SETTLE, NOW, failed=False) == NOW
    assert next_at(erasure(clipboard=1, memory=1), SERVICES, SETTLE, NOW, failed=False) == SETTLED


@pytest.mark.parametrize(("failures", "seconds"), [(0, 1), (1, 2), (5, 32), (6, 60), (1000, 60)])
def test_each_failure_waits_longer(failures: int, seconds: int) -> None:
    """Twice as long, to a minute."""
    at = next_at(erasure(failures), SERVICES, SETTLE, NOW, failed=True)

    assert at == NOW + timedelta(seconds=seconds)

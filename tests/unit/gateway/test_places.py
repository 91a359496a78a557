"""Which hosts and origins are admitted."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from services.gateway.places import Places
from services.gateway.problems import NotServed

PLACES = Places(hosts=["memory.example.org", "10.0.0.7:7680"], origins=["https://app.example.org"])


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:7680"},
        {"host": "localhost"},
        {"host": "[::1]:7680"},
        {"host": "LOCALHOST:1"},
        {"host": "memory.example.org"},
        {"host": "memory.example.org:443"},
        {"host": "10.0.0.7:7680"},
        {"host": "localhost", "origin": "http://localhost:3000"},
        {"host": "localhost", "origin": "http://[::1]:3000"},
        {"host": "localhost", "origin": "https://app.example.org"},
    ],
)
def test_this_machine_and_what_is_allowed_get_in(headers: dict[str, str]) -> None:
    """A host without a port stands for every port; programs send no origin."""
    PLACES.admit(Headers(headers))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "10.0.0.7:7681"},
        {"host": "10.0.0.7"},
        {"host": "[::1"},
        {"host": "localhost", "origin": "https://evil.example"},
        {"host": "localhost", "origin": "http://localhost.evil.example"},
        {"host": "localhost", "origin": "http://app.example.org"},
        {"host": "localhost", "origin": "https://app.example.org:444"},
        {"host": "localhost", "origin": "null"},
        {"host": "localhost", "origin": "http://[::1"},
    ],
)
def test_foreign_pages_and_foreign_names_are_refused(headers: dict[str, str]) -> None:
    """Also a name that a page pointed at this machine."""
    with pytest.raises(NotServed) as caught:
        PLACES.admit(Headers(headers))

    assert (caught.value.refusal.status, caught.value.refusal.reason) == (403, "ORIGIN_REFUSED")

"""Which path a request means."""

from __future__ import annotations

import pytest

from libs.errors import Malformed
from services.gateway.paths import Router, template

ROUTER = Router(
    (verb, template(path), f"{verb} {path}")
    for verb, path in [
        ("GET", "/v1/sessions"),
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions/{session_id}"),
        ("POST", "/v1/sessions/{session_id}:end"),
        ("GET", "/v1/sessions/latest"),
        ("GET", "/v1/sessions/{session_id}/z-report"),
        ("POST", "/v1/sessions:batch"),
    ]
)


@pytest.mark.parametrize(
    ("path", "meant", "values"),
    [
        ("/v1/sessions", "/v1/sessions", {}),
        ("/v1/sessions/7", "/v1/sessions/{session_id}", {"session_id": "7"}),
        ("/v1/sessions/latest", "/v1/sessions/latest", {}),
        ("/v1/sessions/7:end", "/v1/sessions/{session_id}:end", {"session_id": "7"}),
        ("/v1/sessions:batch", "/v1/sessions:batch", {}),
        ("/v1/sessions/7/z-report", "/v1/sessions/{session_id}/z-report", {"session_id": "7"}),
        ("/v1/%73essions/7", "/v1/sessions/{session_id}", {"session_id": "7"}),
    ],
)
def test_a_path_means_one_template(path: str, meant: str, values: dict[str, str]) -> None:
    """Literals go before fields, and verbs before what looks like one."""
    found = ROUTER.find(path)

    assert found
    assert (meant, values) == (found.template.text, found.values)


@pytest.mark.parametrize(
    ("segment", "value"),
    [
        ("a%2Fb", "a/b"),
        ("%2e%2e%2fetc", "../etc"),
        ("a%252Fb", "a%2Fb"),
        ("a+b", "a+b"),
        ("7%3Aend", "7:end"),
        ("7:start", "7:start"),
        ("%E2%82%AC", "€"),
    ],
)
def test_a_field_is_decoded_exactly_once(segment: str, value: str) -> None:
    """An encoded slash or colon belongs to the value and never makes another path."""
    found = ROUTER.find(f"/v1/sessions/{segment}")

    assert found
    assert {"session_id": value} == found.values


@pytest.mark.parametrize("path", ["/", "", "/v1", "/v1/sessions/", "/v2/sessions", "/v1//7", "*"])
def test_what_no_template_fits_is_not_found(path: str) -> None:
    """Nothing is guessed: no empty fields, no trailing slashes."""
    assert ROUTER.find(path) is None


def test_a_path_that_is_not_utf_8_is_refused() -> None:
    """Bytes that stand for no characters are no name."""
    with pytest.raises(Malformed):
        ROUTER.find("/v1/sessions/%FF")


def test_verbs_of_one_path_stand_together() -> None:
    """So that a wrong one can be told which are right."""
    found = ROUTER.find("/v1/sessions")

    assert found
    assert {"GET", "POST"} == found.verbs.keys()


def test_two_methods_never_share_a_route() -> None:
    """A second one would never be called."""
    with pytest.raises(ValueError, match="twice"):
        Router([("GET", template("/v1/a/{b}"), 1), ("GET", template("/v1/a/{c}"), 2)])

"""What a refused request says."""

from __future__ import annotations

from typing import Any

import httpx2


def problem(response: httpx2.Response, status: int, reason: str, code: str = "") -> dict[str, Any]:
    """The problem document of a refused request; its code is its reason in lower case unless one is given."""
    body = response.json()
    assert (status, reason) == (response.status_code, body["reason"]), body
    assert response.headers["content-type"] == "application/problem+json"
    assert (status, code or reason.lower()) == (body["status"], body["code"])
    assert response.headers["x-request-id"] == body["request_id"]
    return body

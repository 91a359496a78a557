"""The id of a request, by which its log lines, its spans and its problems are found."""

from __future__ import annotations

import re
from uuid import uuid4

WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What cannot forge a line of a log."""


def request_id(sent: object) -> str:
    """The id that a caller sent if it is well formed; otherwise a new one."""
    return sent if isinstance(sent, str) and WELL_FORMED.fullmatch(sent) else uuid4().hex

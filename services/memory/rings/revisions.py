"""Versions of what a memory says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs import errors

VERSIONS_MAX = 20
"""Older versions that are kept beside the present one; the oldest go first."""


class VersionNotFound(errors.Missing):
    """The memory has no version of this number, or no longer. ListVersions shows those that it has."""

    reason = "VERSION_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Revision:
    """What a memory says, or said at one time."""

    number: int
    content: str
    content_tokens: int
    created_at: datetime
    current: bool


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a memory is to say from now on: new words, or those of an earlier version."""

    content: str
    from_number: int
    """0 where new words are given."""
    expected_number: int
    """The version that the caller has read; 0: whichever it is."""


def clean_rewrite(rewrite: Rewrite) -> Rewrite:
    """Check that it says one thing. Raises ``Invalid`` naming the field."""
    if bool(rewrite.content) == bool(rewrite.from_number):
        raise errors.invalid("content", "must be given, or from_version instead of it", "revise.one")
    return rewrite

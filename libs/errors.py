"""What can go wrong for a caller.

    Problem
    ├── Invalid             a field breaks a rule
    │   ├── TooLarge        a value is longer than its limit
    │   └── Malformed       the request cannot even be read
    ├── Missing             it does not exist, or not for this caller
    │   └── NotReady        it does not exist yet; asking again may help
    ├── Conflict            it exists already, with other content
    ├── WrongState          it exists, but this cannot be done to it now
    ├── Changed             it is no longer what the caller took it for
    ├── Unauthenticated     nobody we know
    ├── Denied              known, but not allowed
    ├── TooMuch             more than this caller may do
    ├── TimedOut            it took too long
    └── Unavailable         something that we depend on is away

A class's docstring is its message. What is raised and is not a ``Problem`` is a bug.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that breaks one rule."""

    field: str
    """Path of the field as the caller wrote it, e.g. ``observations[2].content``."""
    description: str
    """The rule and its limit, as a sentence a person can act on."""
    rule: str = ""
    """Stable id of the rule, e.g. ``string.max_len``."""


class Problem(Exception):
    """The request could not be served."""

    reason: ClassVar[str] = "PROBLEM"
    """A name in ``treering.errors.v1.ErrorReason``, without its prefix."""

    def __init__(
        self,
        message: str | None = None,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
    ) -> None:
        self.message = message or inspect.cleandoc(type(self).__doc__ or "")
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after
        super().__init__(self.message)


class Invalid(Problem):
    """A field of the request breaks a rule."""

    reason = "INVALID_FIELD"


class TooLarge(Invalid):
    """A value is larger than its limit."""

    reason = "VALUE_TOO_LARGE"


class Missing(Problem):
    """There is no such thing."""

    reason = "NOT_FOUND"


class NotReady(Missing):
    """It is not there yet."""

    reason = "NOT_READY"


class Conflict(Problem):
    """It exists already."""

    reason = "ALREADY_EXISTS"


class WrongState(Problem):
    """This cannot be done in the state it is in."""

    reason = "WRONG_STATE"


class Changed(Problem):
    """Others changed it at the same moment. Read it again, then decide anew."""

    reason = "CONCURRENT_CHANGE"


class Unauthenticated(Problem):
    """Send a valid API key as 'Authorization: Bearer <key>'."""

    reason = "UNAUTHENTICATED"


class Denied(Problem):
    """The key does not allow this."""

    reason = "DENIED"


class TooMuch(Problem):
    """Too many requests. Please slow down."""

    reason = "RATE_LIMITED"


class Unavailable(Problem):
    """Something that this needs is away. Please try again."""

    reason = "UNAVAILABLE"


def invalid(field: str, description: str, rule: str = "") -> Invalid:
    """A problem with one field, named in message and details alike."""
    return Invalid(f"{field}: {description}", violations=(Violation(field, description, rule),))


class TimedOut(Problem):
    """The call took longer than its deadline allows."""

    reason = "DEADLINE_EXCEEDED"


class Malformed(Invalid):
    """The request cannot be read: its bytes are not the message that this method takes."""

    reason = "MALFORMED_REQUEST"

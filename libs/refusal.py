"""Why the house does not start."""

from __future__ import annotations


class Refused(Exception):
    """Starting would be wrong. The message tells an operator what is so and what to do about it."""

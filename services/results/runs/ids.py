"""What callers call their runs and tasks."""

from __future__ import annotations

from libs.errors import invalid
from libs.language.names import clean_name

ID_CHARS_MAX = 128


def clean_id(field: str, value: str) -> str:
    """A name that can stand in a path. Raises ``Invalid``."""
    name = clean_name(field, value, ID_CHARS_MAX)
    if "/" in name:
        raise invalid(field, "must not hold '/'", "string.pattern")
    return name


def optional_id(field: str, value: str) -> str:
    """Such a name, which may be left out."""
    return clean_id(field, value) if value else ""

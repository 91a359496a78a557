"""Enums as JSON has them: short and in lower case, `long_term` for `RING_LONG_TERM`."""

from __future__ import annotations

import re

from google.protobuf.descriptor import EnumDescriptor

WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def short_names(enum: EnumDescriptor) -> dict[int, str]:
    """Each number's short name: without the enum's own name in front."""
    prefix = WORD_START.sub("_", enum.name).upper() + "_"
    return {value.number: value.name.removeprefix(prefix).lower() for value in enum.values}


def numbers(enum: EnumDescriptor) -> dict[str, int]:
    """What may be written for each value, in lower case: its short name and its name in the proto."""
    full = {value.name.lower(): value.number for value in enum.values}
    return full | {name: number for number, name in short_names(enum).items()}

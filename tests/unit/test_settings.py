"""Settings: what the environment may say, and what it may not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from libs.refusal import Refused
from libs.settings import example, load, refuse_unknown


@dataclass(frozen=True, slots=True)
class Kiln:
    """How hot the kiln is.

    More is hotter.
    """

    PREFIX: ClassVar[str] = "TREERING_KILN_"

    degrees: int = 900
    """Degrees Celsius."""
    slow: bool = False
    """Whether it heats
    over night."""
    name: str = ""
    """What it is called."""


def test_defaults_and_given_values() -> None:
    """What is not given has its default; what is given is read by its type."""
    assert load(Kiln, {}) == Kiln(900, False, "")
    assert load(Kiln, {"TREERING_KILN_DEGREES": "1200", "TREERING_KILN_SLOW": "yes"}) == Kiln(1200, True, "")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("DEGREES", "hot", "a whole number"), ("SLOW", "perhaps", "true or false")],
)
def test_a_value_that_cannot_be_read_is_named(name: str, value: str, expected: str) -> None:
    """The refusal names the setting, what it must be, and what was there."""
    with pytest.raises(Refused, match=f"TREERING_KILN_{name} must be {expected}, not '{value}'"):
        load(Kiln, {f"TREERING_KILN_{name}": value})


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """A slip does not go unseen; names of others are not ours to judge."""
    refuse_unknown([Kiln], {"TREERING_KILN_SLOW": "1", "HOME": "/somewhere"})

    with pytest.raises(Refused, match="Did you mean TREERING_KILN_DEGREES"):
        refuse_unknown([Kiln], {"TREERING_KILN_DEGREE": "1"})


def test_the_example_tells_every_setting() -> None:
    """Each setting stands there with its documentation and its default."""
    assert example([Kiln]).splitlines()[2:] == [
        "# --- How hot the kiln is.",
        "# Degrees Celsius.",
        "# TREERING_KILN_DEGREES=900",
        "# Whether it heats",
        "# over night.",
        "# TREERING_KILN_SLOW=false",
        "# What it is called.",
        "# TREERING_KILN_NAME=",
    ]

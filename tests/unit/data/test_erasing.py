"""In which order tables are emptied."""

from __future__ import annotations

import pytest

from libs.data.erasing import Table, in_order


def table(name: str, *points_at: str, cascades: bool = False) -> Table:
    """A table."""
    return Table(name, frozenset(points_at), cascades)


def names(*tables: Table) -> list[str]:
    """Their names in the order in which they are emptied."""
    return [each.name for each in in_order(tables)]


def test_what_points_goes_first() -> None:
    """However they are listed, and over several steps."""
    assert names(table("a"), table("b", "a"), table("c", "b", "a")) == ["c", "b", "a"]


def test_what_cascades_goes_late() -> None:
    """When what it would delete is gone already, but before what it points at."""
    assert names(table("a", "z", cascades=True), table("b"), table("z")) == ["b", "a", "z"]


def test_a_circle_is_refused() -> None:
    """No order would do."""
    with pytest.raises(ValueError, match="a, b"):
        names(table("a", "b"), table("b", "a"))

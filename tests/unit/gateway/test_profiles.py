"""Names of owners, workspaces and profiles."""

import unicodedata

import pytest

from libs.errors import Invalid
from services.gateway.access.profiles import Names


def test_names_are_cleaned() -> None:
    """Space around them goes, and what looks equal is equal: composed and decomposed are one name."""
    assert Names.clean(" Ada ", "Zoë", "x") == Names.clean("Ada", unicodedata.normalize("NFD", "Zoë"), "x ")


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "name",
    ["", "  ", "a\0b", "a\nb", "\x1b[31mred", "a\u200bb", "a\u202eb", "\U000e0041", "x" * 256, "\ud800"],
)
def test_a_bad_name_is_refused_by_field(place: int, name: str) -> None:
    """Nothing hidden, empty or longer than 255 characters; the answer names the field."""
    names = ["fine", "fine", "fine"]
    names[place] = name

    with pytest.raises(Invalid) as refusal:
        Names.clean(*names)

    assert [each.field for each in refusal.value.violations] == [("owner", "workspace", "profile")[place]]


def test_the_longest_name_is_kept_whole() -> None:
    """255 characters, of any size in bytes."""
    assert Names.clean("\U0001f600" * 255, "w", "p").owner == "\U0001f600" * 255


def test_paths_tell_equal_names_of_other_parents_apart() -> None:
    """No two places in the tree have one path, however names are cut."""
    trees = [Names("a", "b", "c"), Names("a", "bc", "c"), Names("ab", "c", "c"), Names("a b", "c", "c")]

    assert len({path for names in trees for path in names.paths[1:]}) == 2 * len(trees)
    assert Names("a", "x", "y").paths[0] == Names("a", "b", "c").paths[0]

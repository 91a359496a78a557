"""Page tokens."""

import string
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from libs.data.pages import Pages
from libs.errors import Invalid

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
PROFILE = UUID(int=7)
KEY = bytes(range(32))
POSITION = (NOW, UUID(int=9), -3, "Öl")


def token() -> str:
    """A good one."""
    return Pages(KEY).seal(PROFILE, "List", b"ring=fresh", POSITION, NOW)


def test_a_token_gives_back_its_position() -> None:
    """Times to the microsecond, ids, numbers and texts come back as they were."""
    assert Pages(KEY).open(PROFILE, "List", b"ring=fresh", token(), NOW) == POSITION


def test_no_token_is_the_first_page() -> None:
    """An empty token has no position."""
    assert Pages(KEY).open(PROFILE, "List", b"", "", NOW) is None


def test_a_token_shows_nothing() -> None:
    """It is plain ASCII for URLs, and two for one place differ."""
    assert token().isascii()
    assert not set(token()) & set("+/=")
    assert token() != token()


def test_a_token_holds_for_a_day() -> None:
    """Good until a microsecond before 24 hours, then refused."""
    end = NOW + timedelta(hours=24)

    assert (
        Pages(KEY).open(PROFILE, "List", b"ring=fresh", token(), end - timedelta(microseconds=1)) == POSITION
    )
    with pytest.raises(Invalid, match="expired"):
        Pages(KEY).open(PROFILE, "List", b"ring=fresh", token(), end)


@pytest.mark.parametrize(
    ("key", "profile", "rpc", "query"),
    [
        (bytes(32), PROFILE, "List", b"ring=fresh"),
        (KEY, UUID(int=8), "List", b"ring=fresh"),
        (KEY, PROFILE, "Search", b"ring=fresh"),
        (KEY, PROFILE, "List", b"ring=shock"),
    ],
)
def test_a_token_is_for_one_list_only(key: bytes, profile: UUID, rpc: str, query: bytes) -> None:
    """Another installation's, profile's, rpc's or query's token is refused, by the field's name."""
    with pytest.raises(Invalid) as refusal:
        Pages(key).open(profile, rpc, query, token(), NOW)

    assert [violation.field for violation in refusal.value.violations] == ["page_token"]


@given(text=some.text(max_size=600))
def test_any_text_is_refused(text: str) -> None:
    """Whatever a caller makes up, the answer is the same problem and never another error."""
    if text:
        with pytest.raises(Invalid):
            Pages(KEY).open(PROFILE, "List", b"ring=fresh", text, NOW)


ALPHABET = string.ascii_letters + string.digits + "-_"


@given(at=some.integers(0, 100), step=some.integers(1, 63))
def test_a_changed_or_cut_token_is_refused(at: int, step: int) -> None:
    """One changed character or a lost end is enough."""
    good = token()
    other = ALPHABET[(ALPHABET.index(good[at]) + step) % len(ALPHABET)]

    for bad in (good[:at] + other + good[at + 1 :], good[: at + 1]):
        with pytest.raises(Invalid):
            Pages(KEY).open(PROFILE, "List", b"ring=fresh", bad, NOW)


def test_a_position_that_is_too_long_is_a_bug() -> None:
    """Positions are ours to choose, so that a token over its limit is not the caller's problem."""
    with pytest.raises(ValueError, match="512"):
        Pages(KEY).seal(PROFILE, "List", b"", ("x" * 400,), NOW)

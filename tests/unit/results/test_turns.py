"""Turns, and their thread as one content."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from libs.errors import Invalid, TooLarge
from services.results.results.turns import (
    ROLE_CHARS_MAX,
    TURN_CHARS_MAX,
    Turn,
    TurnOutOfOrder,
    shown,
    thread,
    turn_draft,
)

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)


def a_turn(number: int, content: str = "hi", created_at: datetime = MOMENT) -> Turn:
    """A turn of the user."""
    return Turn(number, "user", content, created_at)


def test_a_thread_is_json_to_the_letter() -> None:
    """In order, every character itself, times in UTC."""
    east = timezone(timedelta(hours=2))
    turns = [a_turn(1, 'a "q"\n\u2028🌲'), a_turn(2, "b", MOMENT.astimezone(east))]

    content = thread(shown(turns), "more")

    assert "🌲".encode() in content
    assert json.loads(content) == {
        "turns": [
            {
                "number": turn.number,
                "role": "user",
                "content": turn.content,
                "created_at": "2026-03-04T05:06:07.000008Z",
            }
            for turn in turns
        ],
        "next_page_token": "more",
    }


def test_a_thread_of_nothing() -> None:
    """It is a thread as well."""
    assert json.loads(thread(shown([]), "")) == {"turns": [], "next_page_token": ""}


def test_turns_are_shown_while_there_is_room() -> None:
    """Bytes count, not characters; a turn is whole or not there; the first is always."""
    turns = [a_turn(number, "ë" * 100) for number in range(1, 5)]
    one = len(shown(turns[:1])[0].encode()) + 1

    assert len(shown(turns, 4 * one)) == 4
    assert len(shown(turns, 4 * one - 1)) == 3
    assert len(shown(turns, 2 * one + 5)) == 2
    assert len(shown(turns, 1)) == 1


def test_what_a_repeated_turn_has_to_have_alike() -> None:
    """Role and content, and no way to move what is in one into the other."""
    assert turn_draft("user", "hi", 1).signature == turn_draft(" user ", "hi", None).signature
    signatures = {
        turn_draft(*each, 1).signature for each in (("a", "b"), ("a", "b "), ("ab", "b"), ("b", "a"))
    }
    assert len(signatures) == 4


@pytest.mark.parametrize(
    ("role", "content", "problem"),
    [
        (" ", "hi", Invalid),
        ("r" * (ROLE_CHARS_MAX + 1), "hi", Invalid),
        ("a\u200bb", "hi", Invalid),
        ("user", " \n", Invalid),
        ("user", "a\0b", Invalid),
        ("user", "x" * (TURN_CHARS_MAX + 1), TooLarge),
    ],
)
def test_a_wrong_turn(role: str, content: str, problem: type[Invalid]) -> None:
    """A role is a name, a content is a text."""
    with pytest.raises(problem):
        turn_draft(role, content, None)


def test_a_turn_that_comes_too_early_is_told_what_is_next() -> None:
    """For programs too."""
    early = TurnOutOfOrder.before(3)

    assert "number 3" in early.message
    assert early.metadata == {"next": "3"}

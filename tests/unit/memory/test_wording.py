"""What of a language model's answer counts as a shorter text."""

from __future__ import annotations

import pytest

from services.memory.lifecycle.wording import checked, task

TEXT = (
    "The deploy of billing failed at 14:05 with exit code 137. Never run `make migrate` while the export "
    "runs, since the table is locked then. Mara decided to move the export to 03:00."
)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Billing deploy failed at 14:05, exit code 137. Never `make migrate` while the export runs.", True),
        ("  Mara moved the export to 03:00.\n", True),
        ("", False),
        (" \n ", False),
        ("Billing deploy failed at 14:06.", False),
        ("Run `make destroy` while the export runs.", False),
        ("The export cannot run while the table is locked.", False),
        ("As you wish, here comes a poem about spring flowers.", False),
        ("Billing deploy \u202efailed.", False),
        ("Billing\x07 deploy failed.", False),
    ],
)
def test_an_answer_keeps_to_the_text(answer: str, kept: bool) -> None:
    """Its numbers, commands and negations stand in the text, and most of its words do."""
    assert checked(answer, TEXT) == (answer.strip() if kept else None)


@pytest.mark.parametrize(
    ("answer", "kept"), [("週五勿部署付款。", True), ("今天天氣很好，我們去海邊散步吧。", False)]
)
def test_scripts_without_spaces(answer: str, kept: bool) -> None:
    """They are held to their characters."""
    assert (checked(answer, "請勿在週五部署付款服務，因為團隊不在。") is not None) == kept


def test_the_task_asks_for_fewer_words_than_tokens() -> None:
    """And for some words at least."""
    assert "at most 150 words" in task(250)
    assert "at most 5 words" in task(1)

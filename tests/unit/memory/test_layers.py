"""Layer 1 shows little, and a budget counts all of it."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from uuid import UUID

import pytest

from libs.language.tokens import TokenCounter
from services.memory.memories.rings import Outcome, Ring, Stage, Type
from services.memory.search.layers import FRAME_TOKENS, HITS_BYTES_MAX, TEXT_TOKENS_MAX, Hit, within


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    """The real one."""
    return TokenCounter()


def hit(summary: str = "a summary of some length", essence: str = "short", tags: tuple[str, ...] = ()) -> Hit:
    """A hit that shows no text yet."""
    return Hit(
        memory_id=UUID(int=1),
        session_id=UUID(int=2),
        ring=Ring.FRESH,
        stage=Stage.FULL,
        type=Type.INSIGHT,
        outcome=Outcome.SUCCESS,
        score=0.9,
        summary=summary,
        essence=essence,
        actor="Mia",
        tags=tags,
        occurred_at=datetime(2031, 1, 1, tzinfo=UTC),
    )


def shown(hits: list[Hit], budget: int | None, counter: TokenCounter) -> list[Hit]:
    """What is shown of the hits."""
    return within(hits, budget, counter.count, counter.cut)


def test_without_a_budget_every_hit_shows_its_summary(counter: TokenCounter) -> None:
    """None is left out, none is shortened."""
    assert [one.text for one in shown([hit(), hit()], None, counter)] == ["a summary of some length"] * 2


def test_no_hit_shows_more_than_layer_one(counter: TokenCounter) -> None:
    """A summary that is too long is cut."""
    [one] = shown([hit(summary="word " * 1000)], None, counter)

    assert counter.count(one.text) <= TEXT_TOKENS_MAX


def test_a_tight_budget_shows_essences_and_then_fewer(counter: TokenCounter) -> None:
    """Shorter texts come before fewer hits; the best stay."""
    summary = "word " * 140
    [one] = shown([hit(essence="e")], None, counter)
    hits = [hit(summary, f"essence {number}") for number in range(5)]
    budget = 3 * (FRAME_TOKENS + counter.count(json.dumps(["essence 0", "Mia"])))

    assert [each.text for each in shown(hits, budget, counter)] == ["essence 0", "essence 1", "essence 2"]
    assert one.text


@pytest.mark.parametrize("budget", [1, 5, 50, FRAME_TOKENS, FRAME_TOKENS + 5])
def test_a_match_is_never_empty(budget: int, counter: TokenCounter) -> None:
    """However small the budget: one hit, its text within the budget."""
    [one] = shown(
        [hit("word " * 140, "some words of an essence " * 4, tags=("a",) * 64), hit()], budget, counter
    )

    assert one.text
    assert counter.count(one.text) <= budget
    assert one.tokens <= budget


def test_everything_that_is_returned_is_counted(counter: TokenCounter) -> None:
    """A hit as JSON, ids and names of fields included, takes no more tokens than it says."""
    # Ids differ in how many tokens they take; the same many are tried each time.
    chance = random.Random(0)  # noqa: S311
    for tags in [(), ("deployment", "größe", "部署")] * 500:
        [one] = shown(
            [hit("A summary of what happened, with 3 numbers: 1, 22, 333.", tags=tags)], None, counter
        )
        rendered = {
            "memory_id": str(UUID(int=chance.getrandbits(128))),
            "session_id": str(UUID(int=chance.getrandbits(128))),
            "ring": "long_term",
            "stage": "compressed",
            "text": one.text,
            "score": 0.123456789012345,
            "tokens": one.tokens,
            "type": "user_preference",
            "outcome": "success",
            "actor": one.actor,
            "occurred_at": "2031-01-01T01:02:03.123456Z",
            "tags": list(one.tags),
        }
        assert counter.count(json.dumps(rendered, ensure_ascii=False)) <= one.tokens


def test_hits_fit_into_one_message(counter: TokenCounter) -> None:
    """Two hundred hits with the longest tags would not; as many come as do."""
    tags = tuple(f"{'界' * 240}{number}" for number in range(64))
    hits = [hit(tags=tags) for _ in range(100)]

    found = within(hits, None, lambda text: len(text) // 4, lambda text, _: text)

    assert 0 < len(found) < 100
    assert sum(len(tag.encode()) for one in found for tag in one.tags) <= HITS_BYTES_MAX

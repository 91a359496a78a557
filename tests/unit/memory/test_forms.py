"""What is left of texts at each stage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.clock import system_clock
from libs.language.compression import shorten
from libs.language.embeddings import RoutedEmbedder
from libs.language.tokens import TokenCounter
from services.memory.lifecycle.compressor import Compressor
from services.memory.lifecycle.forms import at_stage
from services.memory.memories.memory import Texts
from services.memory.memories.rings import Stage
from tests.rig.memory import Letters

COUNTER = TokenCounter()
BUDGETS = {Stage.COMPRESSED: 250, Stage.SUMMARY: 150, Stage.ESSENCE: 50}
SENTENCES = (
    "The deploy of billing failed at 14:05 with exit code 137.",
    "Run `make migrate` before `make serve`, never after it.",
    "Mara said that the cache must not be flushed on Fridays!",
    "It rained.",
    "We chose PostgreSQL 18 because MySQL lacks the window functions that reports need.",
    "Was it the load balancer?",
    "請勿在週五部署。",
    "See https://example.com/runbooks/7?step=3 for what to do next.",
)
texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=60).map(" ".join) | st.text(max_size=3000)


def compressor(*, away: bool = False) -> Compressor:
    """One whose embedder may be away."""
    letters = Letters()
    letters.away = away
    return Compressor(RoutedEmbedder([letters], system_clock), COUNTER)


def observed(text: str) -> Texts:
    """The texts of a memory as it is observed."""
    short = shorten(text, COUNTER)
    return Texts(
        text, short.summary, short.essence, short.full_tokens, short.summary_tokens, short.essence_tokens
    )


async def aged(text: str, budgets: Sequence[int], *, away: bool = False) -> list[Texts]:
    """A memory at each stage."""
    shorter = compressor(away=away).shorter
    seen = [observed(text)]
    for stage, tokens in zip(BUDGETS, budgets, strict=True):
        seen.append(await at_stage(seen[-1], stage, tokens, shorter))
    return seen


@settings(max_examples=60, deadline=None)
@given(texts.filter(lambda text: bool(text.strip())), st.booleans())
def test_never_over_its_tokens_and_never_longer_than_before(text: str, away: bool) -> None:
    """Each text counts what it says, fits its stage, and has not grown; with an embedder or without."""
    seen = asyncio.run(aged(text, list(BUDGETS.values()), away=away))

    for at in seen:
        counts = [COUNTER.count(each) for each in (at.content, at.summary, at.essence)]
        assert counts == [at.content_tokens, at.summary_tokens, at.essence_tokens]
        assert counts == sorted(counts, reverse=True)
        assert at.content
    for before, after, budget in zip(seen, seen[1:], BUDGETS.values(), strict=False):
        assert after.content_tokens <= min(budget, before.content_tokens)
        assert after.summary_tokens <= before.summary_tokens
        assert after.essence_tokens <= before.essence_tokens


@settings(max_examples=20, deadline=None)
@given(texts.filter(lambda text: bool(text.strip())))
def test_the_same_text_shrinks_to_the_same(text: str) -> None:
    """Whoever compresses it, and whenever."""
    one, other = (asyncio.run(aged(text, list(BUDGETS.values()))) for _ in range(2))

    assert one == other


@pytest.mark.parametrize("budgets", [(3, 2, 1), (16_000, 15_999, 15_998), (40, 30, 20)])
def test_any_budget_is_kept(budgets: tuple[int, int, int]) -> None:
    """Tiny or huge, whatever a policy may say."""
    seen = asyncio.run(aged(" ".join(SENTENCES * 5), budgets))

    assert all(at.content_tokens <= budget for at, budget in zip(seen[1:], budgets, strict=True))


def test_facts_survive_chatter() -> None:
    """A sentence with numbers, a command and a negation outlives a hundred that say nothing."""
    fact = "Never run `make migrate` on db-7 before backup 4412 has finished."
    chatter = " ".join(
        f"And then we talked about this and that for a {word} while." for word in "abcdefgh" * 12
    )
    seen = asyncio.run(aged(f"{chatter} {fact} {chatter}", list(BUDGETS.values())))

    assert all("make migrate" in at.content for at in seen)
    assert all("4412" in at.content for at in seen)

"""Short forms keep what matters, fit their budget, and add nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.language.compression import (
    ESSENCE_TOKENS_MAX,
    SUMMARY_TOKENS_MAX,
    compress,
    sentences,
    shorten,
)
from libs.language.tokens import TokenCounter

COUNTER = TokenCounter()

SESSION = """\
Debugging session for the login service. Users reported that the login page hangs. First we looked at \
the nginx logs but found nothing. The access log shows responses within 30 ms. Caroline suggested \
raising the pool. We ran `kubectl rollout restart deploy/login` after setting POOL_SIZE=40 in \
config/prod.yaml. The hang went away. However the root cause was not the pool size. A transaction in \
UserRepository.find_by_email was never committed because an early return skipped commit(). We fixed it \
in commit 9fceb02 and added a test. The weather was nice and we had coffee. We talked about many things \
that day. It was a long day for everyone. Do not use version 2.3.1 of the driver, it leaks connections. \
The user prefers short answers. We also discussed lunch. Lunch was pizza. The next meeting will be held \
online."""


@pytest.mark.parametrize("text", ["", "Fine.", "A text of a few words.\n\n  It stays as it is.  "])
def test_a_short_text_is_its_own_summary_and_essence(text: str) -> None:
    """Up to fifty tokens nothing changes, not even white space."""
    short = shorten(text, COUNTER)

    assert (short.summary, short.essence) == (text, text)
    assert short.full_tokens == short.summary_tokens == short.essence_tokens == COUNTER.count(text)


def test_facts_survive_first() -> None:
    """Commands, numbers, negations and causes stay in the summary; small talk goes."""
    summary = shorten(SESSION, COUNTER).summary

    for fact in ("POOL_SIZE=40", "was never committed", "Do not use version 2.3.1", "9fceb02"):
        assert fact in summary
    for talk in ("coffee", "pizza", "long day"):
        assert talk not in summary


def test_an_essence_is_a_headline_with_key_terms() -> None:
    """One sentence of the source, then terms of the source."""
    essence = shorten(SESSION, COUNTER).essence

    match = re.fullmatch(r"(.+\.) \((.+)\)", essence)
    assert match
    assert match[1] in SESSION
    assert all(term in SESSION for term in match[2].split(", "))


def test_sentences_keep_their_order() -> None:
    """What is kept reads as in the source."""
    kept = sentences(shorten(SESSION, COUNTER).summary)

    assert kept == [sentence for sentence in sentences(SESSION) if sentence in kept]


def test_what_is_said_twice_is_kept_once() -> None:
    """Repetition loses against anything new."""
    text = "The build failed with error 42 on arm64.\n" * 30 + "Retrying fixed it.\n"

    summary = shorten(text, COUNTER).summary

    assert summary.count("error 42") == 1
    assert "Retrying fixed it." in summary


def test_lines_and_sentences_part() -> None:
    """Abbreviations, versions and addresses do not end a sentence; a line break and foreign marks do."""
    text = "Dr. Smith uses v2.3.1 at https://x.org/a.b now. Next!\n- one\n- two\n你好。再见。यह है। वह है।"

    assert sentences(text) == [
        "Dr. Smith uses v2.3.1 at https://x.org/a.b now.",
        "Next!",
        "- one",
        "- two",
        "你好。",
        "再见。",
        "यह है।",
        "वह है।",
    ]


def test_sentences_have_a_limit() -> None:
    """Of a long text beginning and end are considered, and a run without an end is taken in pieces."""
    found = sentences("\n".join(f"line {number}" for number in range(1_000)), limit=10)

    assert found == [f"line {number}" for number in (*range(5), *range(995, 1_000))]
    assert max(map(len, sentences("x" * 5_000 + " " + "word " * 5_000))) <= 400


def test_vectors_decide_what_is_alike() -> None:
    """Of two sentences that mean the same only one is kept, though they share no word."""
    parts = [
        "Der Dienst braucht lange zum Starten und niemand weiss genau woran es liegt, seit Wochen schon.",
        "Booting takes ages for this component, the reasons remain mysterious so far to everyone involved.",
        "Lunch happened somewhere near the river together with several old friends and a dog.",
    ]
    alike, other = np.eye(2, dtype=np.float32)
    budget = COUNTER.count(" ".join(parts)) - 1
    assert budget > ESSENCE_TOKENS_MAX

    by_words = sentences(compress(parts, COUNTER, budget))
    by_vectors = sentences(compress(parts, COUNTER, budget, [alike, alike, other]))

    assert len(by_words) == 2
    assert by_vectors == [parts[0], parts[2]]


@given(st.lists(st.text(max_size=80), max_size=40).map("\n".join))
def test_short_forms_fit_and_shrink(text: str) -> None:
    """Whatever the text: within 150 and 50 tokens, never longer than the form before, always the same."""
    short = shorten(text, COUNTER)

    assert short.summary_tokens == COUNTER.count(short.summary) <= min(SUMMARY_TOKENS_MAX, short.full_tokens)
    assert (
        short.essence_tokens == COUNTER.count(short.essence) <= min(ESSENCE_TOKENS_MAX, short.summary_tokens)
    )
    assert short == shorten(text, COUNTER)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["x" * 50_000, "a b " * 12_500, "\n".join("abcdefgh" * 6_000), "中文。" * 16_000, "(" * 50_000]
)
def test_hostile_texts_end(text: str) -> None:
    """Texts of 50,000 characters without structure are shortened like any other."""
    assert 0 < shorten(text, COUNTER).essence_tokens <= ESSENCE_TOKENS_MAX


@pytest.mark.parametrize("tokens", [20, 60, 150, 250])
def test_any_budget_holds(tokens: int) -> None:
    """Decay asks for other sizes; a text that fits comes back whole."""
    parts = sentences(SESSION)

    assert 0 < COUNTER.count(compress(parts, COUNTER, tokens)) <= tokens
    assert compress(parts, COUNTER, 10_000) == " ".join(parts)

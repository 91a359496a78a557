"""The curator's rules: what speaks for a ring, what against it, and what no evidence outweighs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.memory.curation.asking import verdict_of
from services.memory.curation.curation import Subject, classify
from services.memory.memories.rings import Outcome, Ring, Type, may_promote


def a_subject(text: str, kind: Type = Type.INSIGHT, **known: int) -> Subject:
    """An observation without a vector."""
    outcome = Outcome(known.get("outcome", 0))
    return Subject(text, kind, outcome, known.get("successes", 0), known.get("failures", 0))


@pytest.mark.parametrize(
    ("subject", "ring", "reason"),
    [
        (a_subject("Deploy: 1) test 2) build 3) push 4) apply"), Ring.PROCEDURE, "steps:numbered"),
        (a_subject("Always read the plan before applying it."), Ring.PRACTICE, "cue:habit"),
        (
            a_subject("The production database was wiped.", Type.ERROR_PATTERN, outcome=2, failures=1),
            Ring.SHOCK,
            "cue:loss",
        ),
        (a_subject("Prices are kept in cents by the vendor.", successes=2), Ring.LONG_TERM, "earned"),
        (a_subject("Prices are kept in cents by the vendor."), Ring.FRESH, "nothing_speaks"),
        (a_subject("ok"), Ring.FRESH, "too_short"),
        (a_subject("生产数据库被误删，无法恢复", Type.ERROR_PATTERN, failures=1), Ring.SHOCK, "cue:loss"),
    ],
)
def test_a_reason_is_told(subject: Subject, ring: Ring, reason: str) -> None:
    """The ring comes with the evidence that weighs most."""
    verdict = classify(subject)

    assert (verdict.ring, verdict.reason) == (ring, reason)


@pytest.mark.parametrize(
    "text",
    [
        "The drill simulated that the production database was deleted.",
        "No data was lost when the production database failed over.",
    ],
)
def test_a_drill_is_no_disaster(text: str) -> None:
    """The words of a disaster alone make none."""
    assert classify(a_subject(text, Type.FAILURE_PATTERN, outcome=2, failures=1)).ring is not Ring.SHOCK


RING_SCORES = st.dictionaries(st.sampled_from(Ring), st.floats(-1, 1), min_size=5, max_size=5)


@given(
    st.text(max_size=400),
    st.sampled_from(Type),
    st.sampled_from(Outcome),
    st.integers(0, 50),
    st.integers(0, 50),
    st.one_of(st.just({}), RING_SCORES),
)
def test_long_term_is_always_earned(
    text: str, kind: Type, outcome: Outcome, successes: int, failures: int, likeness: dict[Ring, float]
) -> None:
    """Whatever is said, and however near it is to anything; every verdict can be kept."""
    subject = Subject(text, kind, outcome, successes, failures, likeness=likeness)
    verdict = classify(subject)

    assert verdict.ring is not Ring.LONG_TERM or may_promote(successes, failures)
    assert 0 <= verdict.confidence <= 1
    assert 1 <= len(verdict.reason) <= 64
    assert verdict == classify(subject)


@pytest.mark.parametrize(
    ("answer", "ring"),
    [
        ('{"ring": "SHOCK", "confidence": 0.9}', Ring.SHOCK),
        ('```json\n{"ring": "PRACTICE", "confidence": 1}\n```', Ring.PRACTICE),
        ('{"ring": "LONG_TERM", "confidence": 0.9}', Ring.FRESH),
        ('{"ring": "CORE", "confidence": 0.9}', None),
        ('{"ring": 5, "confidence": 0.9}', None),
        ('{"ring": "SHOCK", "confidence": NaN}', None),
        ('{"ring": "SHOCK", "confidence": 7}', None),
        ('{"ring": "SHOCK"}', None),
        ('{"ring": "SHOCK", "confidence": 0.9} {"ring": "FRESH", "confidence": 0.9}', None),
        ("SHOCK", None),
        ("", None),
    ],
)
def test_a_models_answer_is_held_to_the_question(answer: str, ring: Ring | None) -> None:
    """One object, a ring there is, a confidence between 0 and 1; LONG_TERM still has to be earned."""
    verdict = verdict_of(answer, a_subject("The vendor's prices are in cents."))

    assert (verdict.ring if verdict else None) is ring

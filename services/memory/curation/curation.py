"""Which ring a memory belongs to: evidence is weighed for each ring, and the reason that weighs most is told.

Weights are log-odds, set on one half of `bench curation`'s set; the other half tests them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from services.memory.curation.cues import Cue, cues, parts, steps
from services.memory.memories.rings import Outcome, Ring, Type, may_promote, success_score

CHARS_MIN = 12
"""What is shorter says too little to be more than FRESH; of Chinese, a third of it is enough."""
CONFIDENCE_MIN = 0.5
"""Below this a memory stays FRESH."""

TRAFFIC = frozenset({Type.TOOL_CALL, Type.TOOL_RESULT, Type.CONTEXT_SWITCH})
"""What passes by while work is done. It teaches only what its words clearly say."""
TROUBLE = frozenset({Type.ERROR_PATTERN, Type.FAILURE_PATTERN})
STATEMENTS = frozenset(
    {Type.INSIGHT, Type.DECISION, Type.USER_PREFERENCE, Type.SUCCESS_PATTERN, Type.ERROR_PATTERN}
)
"""What may be a lasting insight once it has proved itself."""

BIAS = {Ring.SHOCK: -3.2, Ring.PROCEDURE: -2.6, Ring.PRACTICE: -1.9, Ring.LONG_TERM: -0.6}
"""What speaks against each ring before anything is known: most of what is observed is none of them."""
NEAR_MIN = 0.3
"""Below this cosine no example is near at all, as in a language that the model does not know."""
LIKENESS = {Ring.SHOCK: 6.0, Ring.PROCEDURE: 6.0, Ring.PRACTICE: 6.0, Ring.LONG_TERM: 2.0}
"""For each point of cosine by which a ring's examples are nearer than those of FRESH."""
PARTS_MIN = 4
"""An enumeration of so many parts may be steps."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a memory that is to be classified."""

    text: str
    type: Type
    outcome: Outcome
    successes: int
    failures: int
    asks: bool = False
    likeness: Mapping[Ring, float] = field(default_factory=dict[Ring, float])
    """Cosine to each ring's examples; empty while there is no vector to compare."""

    @property
    def earned(self) -> bool:
        """Whether LONG_TERM is open to it."""
        return may_promote(self.successes, self.failures)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a memory belongs, how sure that is, and why."""

    ring: Ring
    confidence: float
    reason: str
    """A code, such as ``cue:always``. Never words of the text."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    weight: float
    reason: str


def classify(subject: Subject) -> Verdict:
    """The ring that the evidence speaks for; FRESH where it speaks for none."""
    if _too_short(subject.text):
        return Verdict(Ring.FRESH, 1.0, "too_short")
    found = cues(subject.text)
    weighed = {ring: [*_words(ring, subject, found), *_likeness(ring, subject)] for ring in BIAS}
    odds = {ring: BIAS[ring] + sum(one.weight for one in all_of) for ring, all_of in weighed.items()}
    # What must not be missed goes first: a warning is often written as a habit.
    best = Ring.SHOCK if odds[Ring.SHOCK] > 0 else max(odds, key=lambda ring: odds[ring])
    confidence = _probability(odds[best])
    if confidence < CONFIDENCE_MIN:
        return Verdict(Ring.FRESH, 1 - confidence, "nothing_speaks")
    if best is Ring.LONG_TERM:
        return _insight(subject, confidence)
    strongest = max(weighed[best], key=lambda one: one.weight)
    return Verdict(best, confidence, strongest.reason)


def chosen(subject: Subject, ring: Ring, confidence: float, reason: str) -> Verdict:
    """Somebody else's choice, held to the rule that LONG_TERM is earned."""
    if ring is Ring.LONG_TERM and not subject.earned:
        return Verdict(Ring.FRESH, confidence, "not_earned")
    return Verdict(ring, confidence, reason)


def _insight(subject: Subject, confidence: float) -> Verdict:
    """An insight that outcomes confirm is as sure as they are."""
    score = success_score(subject.successes, subject.failures)
    return chosen(subject, Ring.LONG_TERM, score if subject.earned and score else confidence, "earned")


def _words(ring: Ring, subject: Subject, found: frozenset[Cue]) -> Iterator[_Evidence]:
    rules = {
        Ring.SHOCK: _shock,
        Ring.PROCEDURE: _procedure,
        Ring.PRACTICE: _practice,
        Ring.LONG_TERM: _long_term,
    }
    return rules[ring](subject, found)


def _shock(subject: Subject, found: frozenset[Cue]) -> Iterator[_Evidence]:
    """A disaster: something grave happened to something that matters, and not in a drill."""
    grave = [cue for cue in (Cue.LOSS, Cue.OUTAGE, Cue.BREACH, Cue.HARM) if cue in found]
    for at, cue in enumerate(grave):
        yield _Evidence(2.4 if at == 0 else 0.8, f"cue:{cue.value}")
    if grave and Cue.AT_STAKE in found:
        yield _Evidence(1.2, "cue:at_stake")
    if grave and Cue.FINAL in found:
        yield _Evidence(0.8, "cue:final")
    if Cue.HARMLESS in found:
        yield _Evidence(-3.5, "cue:harmless")
    if subject.asks:
        yield _Evidence(-2.0, "question")
    if subject.type in TROUBLE:
        yield _Evidence(0.5, "type:trouble")
    if subject.outcome is Outcome.FAILURE:
        yield _Evidence(0.5, "outcome:failure")
    elif subject.outcome is Outcome.SUCCESS:
        yield _Evidence(-2.0, "outcome:success")


def _procedure(subject: Subject, found: frozenset[Cue]) -> Iterator[_Evidence]:
    """A way of doing something: several steps in an order."""
    numbered, enumerated = steps(subject.text), parts(subject.text)
    if numbered >= 2:
        yield _Evidence(1.4 if numbered == 2 else 3.0, "steps:numbered")
    if Cue.HOW_TO in found:
        yield _Evidence(1.4, "cue:how_to")
    ordered = len({Cue.FIRST, Cue.NEXT, Cue.LAST} & found)
    if ordered >= 2:
        yield _Evidence(0.9 * ordered - 0.4, "cue:order")
    if enumerated >= PARTS_MIN and subject.type not in TRAFFIC:
        yield _Evidence(1.4 if ":" not in subject.text else 2.4, "steps:enumerated")
    if subject.type is Type.WORKFLOW_STEP:
        yield _Evidence(0.4, "type:workflow_step")
    if subject.type in TRAFFIC:
        yield _Evidence(-1.2, "type:traffic")
    if Cue.PAST in found:
        yield _Evidence(-1.5, "cue:past")
    if subject.asks:
        yield _Evidence(-2.0, "question")


def _practice(subject: Subject, found: frozenset[Cue]) -> Iterator[_Evidence]:
    """A habit: what is done, or left, every time."""
    if Cue.HABIT in found:
        yield _Evidence(2.6, "cue:habit")
    if Cue.NEVER in found:
        yield _Evidence(2.4, "cue:never")
    if Cue.ADVICE in found:
        yield _Evidence(1.3, "cue:advice")
    if subject.type in (Type.SUCCESS_PATTERN, Type.FAILURE_PATTERN):
        yield _Evidence(0.6, "type:pattern")
    if subject.type in TRAFFIC:
        yield _Evidence(-1.4, "type:traffic")
    if Cue.PAST in found:
        yield _Evidence(-0.8, "cue:past")
    if subject.asks:
        yield _Evidence(-2.0, "question")


def _long_term(subject: Subject, _: frozenset[Cue]) -> Iterator[_Evidence]:
    """An insight: a statement that outcomes have confirmed."""
    if subject.earned:
        yield _Evidence(1.6, "earned")
    if subject.type in STATEMENTS:
        yield _Evidence(0.6, "type:statement")
    if subject.type in TRAFFIC or subject.type is Type.WORKFLOW_STEP:
        yield _Evidence(-2.5, "type:traffic")
    if subject.asks:
        yield _Evidence(-2.0, "question")
    if not subject.earned:
        yield _Evidence(-1.0, "not_earned")


def _likeness(ring: Ring, subject: Subject) -> Sequence[_Evidence]:
    if max(subject.likeness.values(), default=0.0) < NEAR_MIN:
        return ()
    nearer = subject.likeness[ring] - subject.likeness[Ring.FRESH]
    return (_Evidence(LIKENESS[ring] * nearer, "like:examples"),)


def _too_short(text: str) -> bool:
    # A character outside ASCII may be a whole word.
    return sum(1 if char.isascii() else 3 for char in text.strip()) < CHARS_MIN


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))

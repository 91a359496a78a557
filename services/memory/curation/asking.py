"""What a language model is asked about a memory, and what of its answer counts."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from services.memory.curation.curation import Subject, Verdict, chosen
from services.memory.memories.rings import Ring

TEXT_CHARS_MAX = 2_000
"""Of a text that are shown."""
ANSWER_TOKENS_MAX = 60
REASON = "model"

TASK = """Say what kind of memory the material is: something that an agent observed at work.
FRESH: passing traffic, news, a single event, an unproved guess. When in doubt, this.
PROCEDURE: a way of doing something in several steps, to be done again.
PRACTICE: a habit or rule: what to do, or to leave, every time.
LONG_TERM: a fact or insight of lasting value.
SHOCK: a disaster that really happened: data lost, customers cut off, a breach, people or money harmed.
Answer with one line of JSON and nothing else: {"ring": "FRESH", "confidence": 0.5}"""

_OBJECT = re.compile(r"\{[^{}]*\}")


def material(subject: Subject) -> str:
    """The memory as a model is shown it."""
    return (
        f"type: {subject.type.name.lower()}\noutcome: {subject.outcome.name.lower()}\n"
        f"{subject.text[:TEXT_CHARS_MAX]}"
    )


def verdict_of(answer: str, subject: Subject) -> Verdict | None:
    """What an answer says; ``None`` where it names no ring, or is no answer to the question."""
    found = _OBJECT.findall(answer)
    if len(found) != 1:
        return None
    try:
        said: Any = json.loads(found[0])
        ring, confidence = Ring[said["ring"]], float(said["confidence"])
    except (ValueError, KeyError, TypeError):
        return None
    if not (math.isfinite(confidence) and 0 <= confidence <= 1):
        return None
    return chosen(subject, ring, confidence, REASON)

"""How often the curator is right, on observations of our own: `data/curation.jsonl`.

A fixed hash of each text says which half it is in: `tune` set the weights, `apart` tests them. Cases include
what only looks like a ring: drills, questions, quoted words, insights that nothing has confirmed yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import Any

from libs.language.embeddings import Vector
from libs.language.local import LocalEmbedder
from services.memory.curation.curation import Subject, classify
from services.memory.curation.prototypes import Likeness, texts
from services.memory.memories.observations import QUESTION_MARKS
from services.memory.memories.rings import Outcome, Ring, Type

HALVES = ("tune", "apart")
OUTCOMES = {
    "unspecified": Outcome.NOT_RECORDED,
    "success": Outcome.SUCCESS,
    "failure": Outcome.FAILURE,
    "neutral": Outcome.NEUTRAL,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """An observation, where it belongs, and where the curator put it."""

    half: str
    text: str
    expected: Ring
    given: Ring
    reason: str


async def run() -> dict[str, Any]:
    """Macro-F1 of both halves, with vectors and without, and F1 of each ring on the half kept apart."""
    lines = [json.loads(line) for line in _text().splitlines()]
    with closing(LocalEmbedder()) as embedder:
        likeness = Likeness(await embedder.embed(texts()))
        vectors = await embedder.embed([line["text"] for line in lines])
    page: dict[str, Any] = {}
    for name, like in (("local", likeness), ("words only", None)):
        judged = [judge(line, vector, like) for line, vector in zip(lines, vectors, strict=True)]
        page |= {f"{name}, {half}": summary([one for one in judged if one.half == half]) for half in HALVES}
    return page


def judge(line: Mapping[str, Any], vector: Vector, likeness: Likeness | None) -> Judged:
    """What the curator makes of one line."""
    text: str = line["text"]
    verdict = classify(
        Subject(
            text=text,
            type=Type[line["type"].upper()],
            outcome=OUTCOMES[line["outcome"]],
            successes=line["successes"],
            failures=line["failures"],
            asks=not QUESTION_MARKS.isdisjoint(text),
            likeness=likeness.to_rings(vector) if likeness else {},
        )
    )
    return Judged(half_of(text), text, Ring[line["ring"].upper()], verdict.ring, verdict.reason)


def half_of(text: str) -> str:
    """Which half a text is in: the same for ever."""
    return HALVES[sha256(text.encode()).digest()[0] & 1]


def summary(judged: Sequence[Judged]) -> dict[str, float]:
    """F1 of each ring, and their mean."""
    by_ring = {f"F1 {ring.name.lower()}": _f1(judged, ring) for ring in Ring}
    return {"observations": len(judged), "macro-F1": sum(by_ring.values()) / len(by_ring), **by_ring}


def _f1(judged: Sequence[Judged], ring: Ring) -> float:
    right = sum(one.expected is ring and one.given is ring for one in judged)
    wrong = sum((one.expected is ring) != (one.given is ring) for one in judged)
    return 2 * right / max(1, 2 * right + wrong)


def _text() -> str:
    return (resources.files("bench") / "data" / "curation.jsonl").read_text(encoding="utf-8")

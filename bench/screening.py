"""What screening catches, and what it takes for an attack though it is none.

On memory entries of our own, `data/screening-*.txt`, a line each: every other line (`tune`) was looked at
while the patterns were written, the rest (`apart`) was not; one hand wrote both. And on a file of others'
texts, if one is given: JSON lines with `set`, `label` (1 for an attack) and `text`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from importlib import resources
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

from libs.screening.screener import Screener

HALVES = ("tune", "apart")
KINDS = {"benign": "benign flagged", "poisoned": "attacks caught"}


def run(threats: Path | None) -> dict[str, Any]:
    """Screen every text strictly; rates by set, and microseconds a text."""
    screener = Screener()
    page: dict[str, Any] = {"our own entries": _own(screener)}
    if threats is not None:
        page["the file of threats"] = _threats(screener, threats)
    return page


def _own(screener: Screener) -> dict[str, Any]:
    page: dict[str, Any] = {}
    for kind, shown in KINDS.items():
        data = resources.files("bench") / "data" / f"screening-{kind}.txt"
        lines = data.read_text("utf-8").splitlines()
        for number, half in enumerate(HALVES):
            page[f"{shown}, {half}"] = _rate(screener, lines[number::2])
    return page


def _threats(screener: Screener, threats: Path) -> dict[str, Any]:
    rows = [json.loads(line) for line in threats.read_text("utf-8").split("\n") if line]
    sets: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        kind = KINDS["poisoned" if row["label"] else "benign"]
        sets[f"{kind}, {row['set']}"].append(row["text"])
        if not row["label"]:
            sets[f"{kind}, all sets"].append(row["text"])
    taken = _microseconds(screener, [row["text"] for row in rows])
    return {name: _rate(screener, texts) for name, texts in sorted(sets.items())} | {
        "us a text, median": median(taken),
        "us a text, mean": mean(taken),
        "code points a text, mean": mean(len(row["text"]) for row in rows),
    }


def _rate(screener: Screener, texts: list[str]) -> str:
    flagged = sum(not screener.screen(text).is_clean for text in texts)
    return f"{flagged / len(texts):.1%}  ({flagged} of {len(texts)})"


def _microseconds(screener: Screener, texts: list[str]) -> list[float]:
    """The better of two rounds for each text, so that what else runs counts less."""
    rounds: list[list[float]] = []
    for _ in range(2):
        taken: list[float] = []
        for text in texts:
            start = perf_counter()
            screener.screen(text)
            taken.append((perf_counter() - start) * 1e6)
        rounds.append(taken)
    return [min(pair) for pair in zip(*rounds, strict=True)]

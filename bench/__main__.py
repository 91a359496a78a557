"""Measure everything, print one page, write JSON beside it: `python -m bench [--locomo FILE]`."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop

from bench import (
    ageing,
    curation,
    discretion,
    ingest,
    locomo,
    overhead,
    precision,
    scale,
    screening,
    waking,
    writes,
)
from bench.house import House, house
from bench.people import person

OUT = Path(__file__).parent / "out"
SIZES = (2_000, 20_000)
AGED_SIZES = (10_000, 1_000_000)
AWAY = {"TREERING_EMBEDDER": "openai", "TREERING_OPENAI_BASE_URL": "http://127.0.0.1:9"}
"""An embedder that is not there: what is left is everything but the embedding."""

Page = dict[str, Any]


def main() -> int:
    """Run every measurement, or only those that are named."""
    parser = argparse.ArgumentParser("bench", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="a LoCoMo file, to measure retrieval on")
    parser.add_argument(
        "--threats", type=Path, metavar="FILE", help="labelled texts, to measure screening on"
    )
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    arguments = parser.parse_args()
    page: Page = {"at": datetime.now(UTC).isoformat(), "machine": platform.platform()}
    for name in arguments.only:
        measured = SECTIONS[name](arguments)
        if measured is not None:
            page[name] = measured
            show(name, measured)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "bench.json").write_text(json.dumps(page, indent=2) + "\n")
    print("\nThe same as JSON: bench/out/bench.json")
    return 0


def measure_overhead(_: argparse.Namespace) -> Page:
    """A read through the whole chain against a bare echo and a bare read."""
    return in_house(as_person(overhead.run))


def measure_writes(_: argparse.Namespace) -> Page:
    """What writes ask of Postgres."""
    return in_house(as_person(writes.run), counted=True)


def measure_waking(_: argparse.Namespace) -> Page:
    """How soon a waiter has a result."""
    return in_house(as_person(lambda _, one: waking.run(one)))


def measure_discretion(_: argparse.Namespace) -> Page:
    """Whether time tells another's id from nobody's."""

    async def compare(home: House) -> Page:
        async with AsyncExitStack() as stack:
            return await discretion.run(await person(home, stack), await person(home, stack))

    return in_house(compare)


def measure_ingest(_: argparse.Namespace) -> Page:
    """Observations a second, with the local embedder and without any."""
    with_embedder = in_house(as_person(lambda home, one: ingest.run(home, one, "with", 400, 10)))
    without = in_house(as_person(lambda home, one: ingest.run(home, one, "without", 1000, 30)), settings=AWAY)
    return {"with embedder": with_embedder, "without embedder": without}


def measure_search(_: argparse.Namespace) -> Page:
    """Search at growing sizes."""

    async def grow(home: House) -> Page:
        return {f"{size:,} memories": await scale.run(home, size) for size in SIZES}

    return in_house(grow)


def measure_precision(_: argparse.Namespace) -> Page:
    """What `strict` returns, on questions of our own."""
    return in_house(as_person(lambda _, one: precision.run(one.memory)))


def measure_curation(_: argparse.Namespace) -> Page:
    """How often the curator is right, on observations of our own."""
    return uvloop.run(curation.run())


def measure_screening(arguments: argparse.Namespace) -> Page:
    """What screening catches: on entries of our own, and on a file of threats, if one is given."""
    return screening.run(arguments.threats)


def measure_locomo(arguments: argparse.Namespace) -> Page | None:
    """Retrieval on LoCoMo, if a file is given."""
    if arguments.locomo is None:
        return None

    async def ask(home: House) -> Page:
        async with AsyncExitStack() as stack:
            return await locomo.run(arguments.locomo, lambda: person(home, stack))

    return in_house(ask)


def measure_decay(arguments: argparse.Namespace) -> Page:
    """What a sweep costs as memories grow, and retrieval after ageing, if a LoCoMo file is given."""

    async def ask(home: House) -> Page:
        async with AsyncExitStack() as stack:
            return await ageing.recall(arguments.locomo, lambda: person(home, stack), home)

    swept = as_person(lambda home, one: ageing.cost(home, one, AGED_SIZES))
    page: Page = {"a sweep": in_house(swept, settings=AWAY | ageing.QUIET)}
    if arguments.locomo is not None:
        page["LoCoMo, categories 1 to 4"] = in_house(ask, settings=ageing.QUIET)
    return page


def in_house(
    measure: Callable[[House], Awaitable[Page]],
    *,
    settings: Mapping[str, str] | None = None,
    counted: bool = False,
) -> Page:
    """Measure in a house of its own."""
    with house(settings or {}, counted=counted) as home:
        return uvloop.run(_awaited(measure, home))


def as_person(measure: Callable[[House, Any], Awaitable[Page]]) -> Callable[[House], Awaitable[Page]]:
    """Measure as a profile of its own."""

    async def measured(home: House) -> Page:
        async with AsyncExitStack() as stack:
            return await measure(home, await person(home, stack))

    return measured


def show(name: str, measured: Mapping[str, Any], depth: int = 0) -> None:
    """Print one section of the page."""
    indent = "  " * depth
    print(f"\n{name}" if depth == 0 else f"{indent}{name}")
    for key, value in measured.items():
        if isinstance(value, dict):
            show(key, value, depth + 1)
        else:
            shown = f"{value:.3f}" if isinstance(value, float) else value
            print(f"{indent}  {key:<28} {shown}")


async def _awaited(measure: Callable[[House], Awaitable[Page]], home: House) -> Page:
    return await measure(home)


SECTIONS: dict[str, Callable[[argparse.Namespace], Page | None]] = {
    "overhead": measure_overhead,
    "writes": measure_writes,
    "waking": measure_waking,
    "discretion": measure_discretion,
    "ingest": measure_ingest,
    "search": measure_search,
    "precision": measure_precision,
    "curation": measure_curation,
    "screening": measure_screening,
    "locomo": measure_locomo,
    "decay": measure_decay,
}


if __name__ == "__main__":
    sys.exit(main())

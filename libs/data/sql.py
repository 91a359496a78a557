"""SQL stands in ``.sql`` files, each query under a line ``-- name: x``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

HEADER = re.compile(r"^-- name: ([a-z][a-z0-9_]*)$")
LOOKS_LIKE_HEADER = re.compile(r"^\s*--\s*name\b", re.IGNORECASE)


class Queries:
    """The queries of one file: an attribute per name, iterated as (name, text) in the file's order."""

    __slots__ = ("_texts",)

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def __getattr__(self, name: str) -> str:
        """The query of this name."""
        try:
            return self._texts[name]
        except KeyError:
            raise AttributeError(f"there is no query named {name!r}") from None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every query, as (name, text)."""
        return iter(self._texts.items())


def load(package: str, filename: str = "queries.sql", *, schema: str = "") -> Queries:
    """Read a package's queries; ``{schema}`` in them stands for the given schema."""
    text = (resources.files(package) / filename).read_text(encoding="utf-8")
    return parse(text.replace("{schema}", schema), filename)


def parse(text: str, filename: str = "queries.sql") -> Queries:
    """Part a file into its queries. A duplicate, empty or misspelt one raises ``ValueError``."""
    bodies: dict[str, list[str]] = {}
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        header = HEADER.match(line)
        if header is None:
            if LOOKS_LIKE_HEADER.match(line):
                raise ValueError(f"{filename}:{number}: write '-- name: lower_case_name'")
            body.append(line)
            continue
        if header[1] in bodies:
            raise ValueError(f"{filename}:{number}: a second query named {header[1]!r}")
        body = bodies[header[1]] = []
    for name, lines in bodies.items():
        if not any(line.strip() and not line.lstrip().startswith("--") for line in lines):
            raise ValueError(f"{filename}: the query {name!r} is empty")
    return Queries({name: "\n".join(lines).strip() for name, lines in bodies.items()})

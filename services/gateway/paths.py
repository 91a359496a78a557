"""Paths of REST: the templates of the protos, and which of them a request means.

Of `google.api.http`'s grammar, literal segments, `{field}`, `{field.of.a.field}` and a final `:verb`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import unquote

from libs.errors import Malformed

LITERAL = re.compile(r"[A-Za-z0-9._~-]+")
VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)\}")
VERB = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

T = TypeVar("T")


class UnsupportedTemplate(ValueError):
    """A path template that is not understood here."""


@dataclass(frozen=True, slots=True)
class Template:
    """A path with holes for fields."""

    text: str
    literals: tuple[str | None, ...]
    """Each segment; ``None`` where a field stands."""
    fields: tuple[str, ...]
    """The fields in the holes, in order."""
    verb: str
    """What follows the last colon. Empty: nothing."""

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """The fields' values, if as many segments as the template has fit it."""
        pairs = list(zip(self.literals, segments, strict=True))
        if any(literal != segment if literal else not segment for literal, segment in pairs):
            return None
        return dict(zip(self.fields, (segment for literal, segment in pairs if not literal), strict=True))


def template(text: str) -> Template:
    """Read a template. ``UnsupportedTemplate`` for what goes beyond segments, fields and a verb."""
    path, colon, verb = text.partition(":")
    literals: list[str | None] = []
    fields: list[str] = []
    for segment in path.removeprefix("/").split("/"):
        if variable := VARIABLE.fullmatch(segment):
            literals.append(None)
            fields.append(variable[1])
        elif LITERAL.fullmatch(segment):
            literals.append(segment)
        else:
            raise UnsupportedTemplate(f"{text}: {segment!r} is neither a literal nor a plain {{field}}")
    if not path.startswith("/") or (colon and not VERB.fullmatch(verb)) or len(set(fields)) != len(fields):
        raise UnsupportedTemplate(
            f"{text}: must be /segments with each field once and at most one final :verb"
        )
    return Template(text, tuple(literals), tuple(fields), verb)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """The path that a request means."""

    template: Template
    verbs: Mapping[str, T]
    """What is there, by HTTP verb."""
    values: Mapping[str, str]
    """The path's fields, percent-decoded once."""


class Router(Generic[T]):
    """Finds a path among many."""

    def __init__(self, entries: Iterable[tuple[str, Template, T]]) -> None:
        """Take (HTTP verb, template, what is there). ``ValueError`` when two are alike."""
        verbs: dict[tuple[tuple[str | None, ...], str], tuple[Template, dict[str, T]]] = {}
        for http_verb, path, target in entries:
            first, there = verbs.setdefault((path.literals, path.verb), (path, {}))
            if http_verb in there or first.fields != path.fields:
                raise ValueError(f"{http_verb} {path.text} is there twice")
            there[http_verb] = target
        self._paths: dict[tuple[int, str], list[tuple[Template, dict[str, T]]]] = {}
        # Literal paths come first, so that /a/b is never taken for /a/{id}.
        for path, there in sorted(verbs.values(), key=lambda each: len(each[0].fields)):
            self._paths.setdefault((len(path.literals), path.verb), []).append((path, there))

    def find(self, raw_path: str) -> Found[T] | None:
        """The path that a still percent-encoded one means.

        A final ``:verb`` that no template has belongs to the segment before it.
        """
        raw = raw_path.removeprefix("/").split("/")
        last, colon, verb = raw[-1].rpartition(":")
        return (self._find([*raw[:-1], last], verb) if colon else None) or self._find(raw, "")

    def _find(self, raw: list[str], verb: str) -> Found[T] | None:
        paths = self._paths.get((len(raw), verb))
        if not paths:
            return None
        segments = [_decoded(segment) for segment in raw]
        for path, there in paths:
            values = path.match(segments)
            if values is not None:
                return Found(path, there, values)
        return None


def _decoded(segment: str) -> str:
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise Malformed("The path is not UTF-8.") from None

"""Settings: frozen dataclasses filled from the environment.

A class has a ``PREFIX``; its field ``grpc_port`` with prefix ``TREERING_`` is ``TREERING_GRPC_PORT``. The
string under a field is its documentation, and `deploy/env.example` is written from it.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from libs.refusal import Refused

OURS = "TREERING_"


class Settings(Protocol):
    """Any settings class."""

    PREFIX: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]


S = TypeVar("S", bound=Settings)


def truth(text: str) -> bool:
    """``true`` or ``false``, as people write them."""
    known = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    return known[text.lower()]


READERS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    str: ("text", str),
    int: ("a whole number", int),
    float: ("a number", float),
    bool: ("true or false", truth),
    Path: ("a path", Path),
}


def load(kind: type[S], env: Mapping[str, str]) -> S:
    """Fill a settings class from the environment. ``Refused`` names a value that cannot be read."""
    types = get_type_hints(kind)
    values = {
        field.name: _read(name, env[name], types[field.name]) for field, name in _named(kind) if name in env
    }
    missing = [name for field, name in _named(kind) if _needed(field) and field.name not in values]
    if missing:
        raise Refused(f"{missing[0]} must be set.")
    return kind(**values)


def refuse_unknown(kinds: Iterable[type[Settings]], env: Mapping[str, str]) -> None:
    """Refuse to start with a ``TREERING_*`` name that nobody reads: a slip there would go unseen."""
    known = {name for kind in kinds for _, name in _named(kind)}
    for name in sorted(env):
        if name.startswith(OURS) and name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise Refused(f"{name} is not a setting of Treering. Did you mean {near[0]}?" if near else name)


def example(kinds: Sequence[type[Settings]]) -> str:
    """All settings with their defaults and what they mean, as an environment file."""
    parts = ["# Every setting of Treering with its default. Written by `treering env`.\n"]
    for kind in kinds:
        documentation = _documentation(kind)
        parts.append(f"\n# --- {inspect.cleandoc(kind.__doc__ or '').splitlines()[0]}\n")
        for field, name in _named(kind):
            parts += [f"# {line}\n" for line in documentation[field.name].splitlines()]
            parts.append(f"# {name}={'' if _needed(field) else _shown(field.default)}\n")
    return "".join(parts)


def _named(kind: type[Settings]) -> Iterator[tuple[dataclasses.Field[Any], str]]:
    for field in dataclasses.fields(kind):
        yield field, f"{kind.PREFIX}{field.name.upper()}"


def _read(name: str, text: str, wanted: Any) -> Any:
    expected, reader = READERS[wanted]
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise Refused(f"{name} must be {expected}, not {text!r}.") from None


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _documentation(kind: type) -> dict[str, str]:
    """The string that stands under each field. Python forgets it, so it is read from the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 -- the source of a class is a class
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
        ):
            found[field.target.id] = inspect.cleandoc(ast.literal_eval(below.value))
    return found

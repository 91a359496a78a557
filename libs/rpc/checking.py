"""Requests are checked against the rules that their protos state, before any handler sees them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from typing import TypeVar

import protovalidate
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from libs.errors import Invalid, Malformed, Violation

VIOLATIONS_MAX = 20
"""How many violations one answer names."""

M = TypeVar("M", bound=Message)


class Unreadable:
    """Stands for a request whose bytes could not be read."""


def tolerant(deserialize: Callable[[bytes], Message]) -> Callable[[bytes], Message | Unreadable]:
    """Read what can be read; grpc would answer UNKNOWN with the parser's own words."""

    def read(content: bytes) -> Message | Unreadable:
        try:
            return deserialize(content)
        except DecodeError:
            return Unreadable()

    return read


def check(request: Message | Unreadable) -> Message:
    """Return the request if it keeps its rules; otherwise ``Invalid`` names each field that breaks one."""
    if isinstance(request, Unreadable):
        raise Malformed
    found = list(map(_violation, own_words_first(protovalidate.collect_violations(request, fail_fast=False))))
    found += [Violation(path, "must not contain NUL characters", "string.no_nul") for path in _nuls(request)]
    if found:
        raise Invalid(
            "; ".join(f"{each.field}: {each.description}" for each in found[:3]),
            violations=found[:VIOLATIONS_MAX],
        )
    return request


async def check_each(requests: AsyncIterable[Message | Unreadable]) -> AsyncGenerator[Message]:
    """The requests of a stream, each checked when it comes. The first that breaks a rule ends it."""
    async for request in requests:
        yield check(request)


def own_words_first(found: Sequence[protovalidate.Violation]) -> list[protovalidate.Violation]:
    """Violations without those of fields for which a rule of their own says the same in its own words."""
    spoken = {_path(each) for each in found if in_own_words(each)}
    return [each for each in found if in_own_words(each) or _path(each) not in spoken]


def in_own_words(found: protovalidate.Violation) -> bool:
    """Whether the broken rule is one that the proto itself words."""
    rule = found.proto.rule.elements if found.proto.rule else ()
    return bool(rule) and rule[0].field_name == "cel"


def _violation(found: protovalidate.Violation) -> Violation:
    """Ours."""
    return Violation(_path(found), found.proto.message, found.proto.rule_id)


def _path(found: protovalidate.Violation) -> str:
    """The field as a person would write it: ``observations[2].content``."""
    path = ""
    for element in found.proto.field.elements if found.proto.field else ():
        path += ("." if path else "") + element.field_name
        if element.subscript and element.subscript.field == "index":
            path += f"[{element.subscript.value}]"
    return path


def _nuls(message: Message, prefix: str = "") -> list[str]:
    """Strings that hold a NUL: protobuf takes it, Postgres and people do not."""
    found: list[str] = []
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if field.type == FieldDescriptor.TYPE_STRING:
            texts = (
                {f"{path}[{at}]": text for at, text in enumerate(value)}
                if field.is_repeated
                else {path: value}
            )
            found += [place for place, text in texts.items() if "\0" in text]
        elif field.message_type and field.message_type.full_name.startswith("treering."):
            if field.is_repeated:
                for index, item in enumerate(value):
                    found += _nuls(item, f"{path}[{index}].")
            else:
                found += _nuls(value, f"{path}.")
    return found

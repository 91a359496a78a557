"""JSON objects into requests, along their descriptors. Readers are made once, when the house starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from libs.errors import Invalid, invalid
from services.gateway.transcoding import enums, scalars
from services.gateway.transcoding.scalars import Read, Wrong, wrong_type

Skip = Callable[[FieldDescriptor], bool]
"""Which fields a door does not take."""

SIGNED_32: Final = scalars.integer(-(2**31), 2**31 - 1)
UNSIGNED_32: Final = scalars.integer(0, 2**32 - 1)
SIGNED_64: Final = scalars.integer(-(2**63), 2**63 - 1)
UNSIGNED_64: Final = scalars.integer(0, 2**64 - 1)

PLAIN: Final[dict[int, Read]] = {
    FieldDescriptor.TYPE_STRING: scalars.text,
    FieldDescriptor.TYPE_BOOL: scalars.boolean,
    FieldDescriptor.TYPE_BYTES: scalars.binary,
    FieldDescriptor.TYPE_DOUBLE: scalars.real(math.nextafter(math.inf, 0)),
    FieldDescriptor.TYPE_FLOAT: scalars.real(scalars.FLOAT_MAX),
    FieldDescriptor.TYPE_INT32: SIGNED_32,
    FieldDescriptor.TYPE_SINT32: SIGNED_32,
    FieldDescriptor.TYPE_SFIXED32: SIGNED_32,
    FieldDescriptor.TYPE_UINT32: UNSIGNED_32,
    FieldDescriptor.TYPE_FIXED32: UNSIGNED_32,
    FieldDescriptor.TYPE_INT64: SIGNED_64,
    FieldDescriptor.TYPE_SINT64: SIGNED_64,
    FieldDescriptor.TYPE_SFIXED64: SIGNED_64,
    FieldDescriptor.TYPE_UINT64: UNSIGNED_64,
    FieldDescriptor.TYPE_FIXED64: UNSIGNED_64,
}
WELL_KNOWN: Final[dict[str, Read]] = {
    "google.protobuf.Timestamp": scalars.timestamp,
    "google.protobuf.Duration": scalars.duration,
    "google.protobuf.Struct": scalars.structure,
}
DEPTH_MAX: Final = 16
"""How deep messages may stand in one another; a message within itself would never end."""


class UnsupportedField(ValueError):
    """A field of a kind that JSON is not read into here."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads JSON objects of one message into keyword arguments of its constructor."""

    fields: Mapping[str, tuple[str, Read]]
    """By each spelling of its name: the field's own name, and how its value is read."""

    def __call__(self, value: object) -> dict[str, object]:
        """Read an object. Raises ``Wrong`` with the place of the first wrong value."""
        if not isinstance(value, dict):
            raise wrong_type("an object")
        read: dict[str, object] = {}
        for spelling, each in cast(dict[str, object], value).items():
            known = self.fields.get(spelling)
            if known is None:
                raise Wrong("is not a field here", "json.unknown_field", f".{spelling[:64]}")
            name, reads = known
            if name in read:
                raise Wrong("is given in two spellings", "json.duplicate", f".{name}")
            if each is None:  # as if it were not there
                continue
            try:
                read[name] = reads(each)
            except Wrong as wrong:
                raise wrong.within(f".{name}") from None
        return read


def reader(message: Descriptor, skip: Skip = lambda _: False, depth: int = 0) -> Reader:
    """A reader of a message without the skipped fields. ``UnsupportedField`` names what cannot be read."""
    if depth > DEPTH_MAX:
        raise UnsupportedField(f"{message.full_name} stands within itself")
    fields: dict[str, tuple[str, Read]] = {}
    for field in message.fields:
        if not skip(field):
            entry = (field.name, _field(field, skip, depth))
            fields |= {field.name: entry, field.camelcase_name: entry}
    return Reader(fields)


def single(field: FieldDescriptor, skip: Skip = lambda _: False, depth: int = 0) -> Read:
    """How one value of a field is read, also if the field is repeated."""
    if field.enum_type:
        offered = ", ".join(enums.short_names(field.enum_type).values())
        return scalars.choice(enums.numbers(field.enum_type), offered)
    if not field.message_type:
        if field.type not in PLAIN:
            raise UnsupportedField(f"{field.full_name} is of a type that is not supported")
        return PLAIN[field.type]
    known = WELL_KNOWN.get(field.message_type.full_name)
    if known is None and field.message_type.full_name.startswith("google."):
        raise UnsupportedField(f"{field.full_name}: {field.message_type.full_name} is not supported")
    return known or reader(field.message_type, skip, depth + 1)


def named(wrong: Wrong) -> Invalid:
    """The problem that a wrong value is, with its field as the caller would write it."""
    return invalid(wrong.at.removeprefix(".") or "body", wrong.description, wrong.rule)


def _field(field: FieldDescriptor, skip: Skip, depth: int) -> Read:
    if field.message_type and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        if key.type != FieldDescriptor.TYPE_STRING:
            raise UnsupportedField(f"{field.full_name}: only strings are supported as keys of a map")
        return _entries(single(value, skip, depth))
    one = single(field, skip, depth)
    return _items(one) if field.is_repeated else one


def _items(one: Read) -> Read:
    def read(value: object) -> list[object]:
        if not isinstance(value, list):
            raise wrong_type("an array")
        found: list[object] = []
        for each in cast(list[object], value):
            try:
                found.append(one(each))
            except Wrong as wrong:
                raise wrong.within(f"[{len(found)}]") from None
        return found

    return read


def _entries(one: Read) -> Read:
    def read(value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise wrong_type("an object")
        found: dict[str, object] = {}
        for name, each in cast(dict[str, object], value).items():
            try:
                found[scalars.text(name)] = one(each)
            except Wrong as wrong:
                raise wrong.within(f".{name[:64]}") from None
        return found

    return read

"""Answers into JSON values, along their descriptors. Writers are made once, when the house starts.

Names in snake_case, enums short, times as RFC 3339. Fields that cannot be absent are always there.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from services.gateway.transcoding import enums
from services.gateway.transcoding.reading import DEPTH_MAX, UnsupportedField

Write = Callable[[Any], object]
WriteObject = Callable[[Message], dict[str, object]]
"""A message as a JSON object."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes messages of one kind as JSON objects."""

    always: tuple[tuple[str, Write | None], ...]
    """Fields that are always written, and how. ``None``: as they are."""
    present: tuple[tuple[str, Write | None], ...]
    """Fields that are written when they are there."""

    def __call__(self, message: Message) -> dict[str, object]:
        """The message as a JSON object."""
        written: dict[str, object] = {}
        for name, write in self.always:
            value = getattr(message, name)
            written[name] = write(value) if write else value
        for name, write in self.present:
            if message.HasField(name):
                value = getattr(message, name)
                written[name] = write(value) if write else value
        return written


def writer(message: Descriptor, depth: int = 0) -> Writer:
    """A writer of a message. ``UnsupportedField`` names what cannot be written."""
    if depth > DEPTH_MAX:
        raise UnsupportedField(f"{message.full_name} stands within itself")
    always: list[tuple[str, Write | None]] = []
    present: list[tuple[str, Write | None]] = []
    for field in message.fields:
        (present if field.has_presence else always).append((field.name, _field(field, depth)))
    return Writer(tuple(always), tuple(present))


def _field(field: FieldDescriptor, depth: int) -> Write | None:
    if field.message_type and field.message_type.GetOptions().map_entry:
        return _entries(_single(field.message_type.fields_by_name["value"], depth))
    one = _single(field, depth)
    return _items(one) if field.is_repeated else one


def _single(field: FieldDescriptor, depth: int) -> Write | None:
    if field.enum_type:
        names = enums.short_names(field.enum_type)
        return lambda number: names.get(number, str(number))
    if not field.message_type:
        return PLAIN.get(field.type)
    name = field.message_type.full_name
    if name not in WELL_KNOWN and name.startswith("google."):
        raise UnsupportedField(f"{field.full_name}: {name} is not supported")
    return WELL_KNOWN.get(name) or writer(field.message_type, depth + 1)


def _items(one: Write | None) -> Write:
    def write(values: Iterable[object]) -> list[object]:
        return [one(value) for value in values] if one else list(values)

    return write


def _entries(one: Write | None) -> Write:
    def write(entries: Mapping[str, object]) -> dict[str, object]:
        return {name: one(value) if one else value for name, value in entries.items()}

    return write


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _time(value: Timestamp | Duration) -> str:
    return value.ToJsonString()


def _structure(struct: Struct) -> dict[str, object]:
    return {name: _anything(value) for name, value in struct.fields.items()}


def _anything(value: Value) -> object:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _structure(value.struct_value)
    if kind == "list_value":
        return [_anything(each) for each in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return getattr(value, kind) if kind and kind != "null_value" else None


PLAIN: Final[dict[int, Write]] = {
    FieldDescriptor.TYPE_BYTES: _base64,
    # JSON's readers lose what is beyond 2^53.
    FieldDescriptor.TYPE_INT64: str,
    FieldDescriptor.TYPE_SINT64: str,
    FieldDescriptor.TYPE_SFIXED64: str,
    FieldDescriptor.TYPE_UINT64: str,
    FieldDescriptor.TYPE_FIXED64: str,
}
WELL_KNOWN: Final[dict[str, Write]] = {
    "google.protobuf.Timestamp": _time,
    "google.protobuf.Duration": _time,
    "google.protobuf.Struct": _structure,
}

"""Print a file descriptor as proto source.

The wheel of protovalidate carries `buf/validate/validate.proto` only as a descriptor, and protoc wants its source.
Options are left out (the checks they would describe live in protovalidate itself), and so are comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

LABELS = {FieldDescriptorProto.LABEL_OPTIONAL: "optional ", FieldDescriptorProto.LABEL_REPEATED: "repeated "}


def source(file: FileDescriptorProto) -> str:
    """The file as protoc would read it."""
    return "\n".join(file_lines(file)) + "\n"


def file_lines(file: FileDescriptorProto) -> Iterator[str]:
    """Header, messages, enums, extensions."""
    yield f'syntax = "{file.syntax or "proto2"}";'
    yield f"package {file.package};"
    yield from (f'import "{name}";' for name in file.dependency)
    for enum in file.enum_type:
        yield from enum_lines(enum)
    for message in file.message_type:
        yield from message_lines(message)
    yield from extension_lines(file.extension)


def message_lines(message: DescriptorProto) -> Iterator[str]:
    """A message with everything nested in it."""
    yield f"message {message.name} {{"
    for enum in message.enum_type:
        yield from enum_lines(enum)
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    for nested in message.nested_type:
        if nested.name not in entries:
            yield from message_lines(nested)
    yield from (field_line(field, entries) for field in message.field if not in_oneof(field))
    for index, oneof in enumerate(message.oneof_decl):
        members = [field for field in message.field if in_oneof(field) and field.oneof_index == index]
        if members:
            yield f"oneof {oneof.name} {{"
            yield from (field_line(field, entries, label="") for field in members)
            yield "}"
    yield from (f"extensions {span.start} to {span_end(span.end)};" for span in message.extension_range)
    yield from (f"reserved {span.start} to {span.end - 1};" for span in message.reserved_range)
    yield from (f'reserved "{name}";' for name in message.reserved_name)
    yield from extension_lines(message.extension)
    yield "}"


def enum_lines(enum: EnumDescriptorProto) -> Iterator[str]:
    """An enum with its values."""
    yield f"enum {enum.name} {{"
    if enum.options.allow_alias:
        yield "option allow_alias = true;"
    yield from (f"{value.name} = {value.number};" for value in enum.value)
    yield "}"


def extension_lines(extensions: Iterable[FieldDescriptorProto]) -> Iterator[str]:
    """Each extension in a block of its own."""
    yield from (f"extend {field.extendee} {{ {field_line(field, {})} }}" for field in extensions)


def field_line(field: FieldDescriptorProto, entries: dict[str, DescriptorProto], label: str | None = None) -> str:
    """One field, or one side of a oneof."""
    entry = entries.get(field.type_name.rpartition(".")[2]) if field.type_name else None
    if entry:
        key, value = entry.field
        return f"map<{type_name(key)}, {type_name(value)}> {field.name} = {field.number};"
    label = LABELS.get(field.label, "required ") if label is None else label
    return f"{label}{type_name(field)} {field.name} = {field.number};"


def type_name(field: FieldDescriptorProto) -> str:
    """`.package.Message` or a scalar's keyword."""
    return field.type_name or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def in_oneof(field: FieldDescriptorProto) -> bool:
    """Whether the field is one of several, not merely proto3 optional."""
    return field.HasField("oneof_index") and not field.proto3_optional


def span_end(end: int) -> str:
    """An exclusive end as protoc writes it."""
    return "max" if end > 536870911 else str(end - 1)

"""What the protos say in words: each thing's leading comment, by its full name."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto

Path = tuple[int, ...]
# Field numbers of descriptor.proto, which source locations are made of.
FILE_MESSAGE, FILE_ENUM, FILE_SERVICE = 4, 5, 6
MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM = 2, 3, 4
ENUM_VALUE, SERVICE_METHOD = 2, 2


def comments(file: FileDescriptorProto) -> dict[str, str]:
    """Comments of a file's messages, fields, enums, values, services and methods.

    A value stands under its enum's name here, as ``treering.memory.v1.Ring.RING_FRESH``.
    """
    names = dict(_names(file))
    return {
        names[tuple(location.path)]: _text(location.leading_comments)
        for location in file.source_code_info.location
        if location.leading_comments and tuple(location.path) in names
    }


def _text(comment: str) -> str:
    return "\n".join(line.removeprefix(" ").rstrip() for line in comment.splitlines()).strip()


def _names(file: FileDescriptorProto) -> Iterator[tuple[Path, str]]:
    for index, message in enumerate(file.message_type):
        yield from _message(message, (FILE_MESSAGE, index), file.package)
    for index, enum in enumerate(file.enum_type):
        yield from _enum(enum, (FILE_ENUM, index), file.package)
    for index, service in enumerate(file.service):
        name, path = f"{file.package}.{service.name}", (FILE_SERVICE, index)
        yield path, name
        for at, method in enumerate(service.method):
            yield (*path, SERVICE_METHOD, at), f"{name}.{method.name}"


def _message(message: DescriptorProto, path: Path, scope: str) -> Iterator[tuple[Path, str]]:
    name = f"{scope}.{message.name}"
    yield path, name
    for index, field in enumerate(message.field):
        yield (*path, MESSAGE_FIELD, index), f"{name}.{field.name}"
    for index, nested in enumerate(message.nested_type):
        yield from _message(nested, (*path, MESSAGE_NESTED, index), name)
    for index, enum in enumerate(message.enum_type):
        yield from _enum(enum, (*path, MESSAGE_ENUM, index), name)


def _enum(enum: EnumDescriptorProto, path: Path, scope: str) -> Iterator[tuple[Path, str]]:
    name = f"{scope}.{enum.name}"
    yield path, name
    for index, value in enumerate(enum.value):
        yield (*path, ENUM_VALUE, index), f"{name}.{value.name}"

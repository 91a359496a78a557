"""What can be called, read from the compiled protos. REST, OpenAPI and MCP are derived from it."""

from __future__ import annotations

import importlib
import importlib.resources
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import cast

from google.api import annotations_pb2, http_pb2
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    MethodOptions,
)
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from treering.options.v1 import options_pb2

from libs.rpc.methods import deadline
from services.gateway.comments import comments
from services.gateway.options import said
from services.gateway.paths import Template, UnsupportedTemplate, template

PACKAGE = "treering."
HTTP_VERBS = ("get", "put", "post", "delete", "patch")
WHOLE = "*"
"""A binding's body that is the whole request."""


class UnsupportedMethod(ValueError):
    """A method that asks for what the gateway cannot do. The house does not start with it."""


class Effect(Enum):
    """What calling a method once, or once more, does."""

    READS = MethodOptions.NO_SIDE_EFFECTS
    IDEMPOTENT = MethodOptions.IDEMPOTENT
    UNKNOWN = MethodOptions.IDEMPOTENCY_UNKNOWN


@dataclass(frozen=True, slots=True)
class Binding:
    """One way to call a method over HTTP."""

    verb: str
    """In capitals."""
    template: Template
    body: str
    """The field that the body is, ``*`` for the whole request, empty for none."""
    response_body: str
    """The field that the answer is, empty for the whole response."""


@dataclass(frozen=True, slots=True)
class Tool:
    """How a method appears to agents."""

    name: str
    title: str
    destructive: bool


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a service."""

    path: str
    """As gRPC has it, e.g. ``/treering.memory.v1.MemoryService/Search``."""
    service: str
    """The service's full name."""
    name: str
    request: type[Message]
    response: type[Message]
    bindings: tuple[Binding, ...]
    """Empty: not offered over REST."""
    scope: str
    tool: Tool | None
    effect: Effect
    streams: bool
    """Whether it answers with a stream."""
    seconds: float
    """How long a call may take."""
    comment: str

    @property
    def takes(self) -> Descriptor:
        """What its request is made of."""
        return cast(Descriptor, self.request.DESCRIPTOR)

    @property
    def gives(self) -> Descriptor:
        """What its response is made of."""
        return cast(Descriptor, self.response.DESCRIPTOR)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything that can be called, and what is said about it."""

    methods: tuple[Method, ...]
    comments: Mapping[str, str]
    """By full name; see ``comments.comments``."""


def load() -> Catalog:
    """The catalog of the protos that this house was built with."""
    return read((importlib.resources.files("treering") / "image.binpb").read_bytes())


def read(image: bytes) -> Catalog:
    """The catalog of a descriptor set with source info. ``UnsupportedMethod`` names what is not supported."""
    files = [file for file in FileDescriptorSet.FromString(image).file if file.package.startswith(PACKAGE)]
    told = {name: comment for file in files for name, comment in comments(file).items()}
    for file in files:
        _register(file.name)
    methods = tuple(method for file in files for method in _methods(file, told))
    names = [method.tool.name for method in methods if method.tool]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UnsupportedMethod(f"Tools with the same name: {', '.join(sorted(twice))}")
    return Catalog(methods, told)


def _register(file: str) -> None:
    """See that the file's generated classes are known."""
    try:
        descriptor_pool.Default().FindFileByName(file)
    except KeyError:
        importlib.import_module(file.removesuffix(".proto").replace("/", ".") + "_pb2")


def _methods(file: FileDescriptorProto, told: Mapping[str, str]) -> Iterator[Method]:
    for service in file.service:
        name = f"{file.package}.{service.name}"
        for method in service.method:
            try:
                yield _method(name, method, told.get(f"{name}.{method.name}", ""))
            except (UnsupportedTemplate, UnsupportedMethod) as fault:
                raise UnsupportedMethod(f"{name}.{method.name}: {fault}") from None


def _method(service: str, described: MethodDescriptorProto, comment: str) -> Method:
    options = described.options
    scope: str | None = said(options, options_pb2.scope)
    if not scope:
        raise UnsupportedMethod("names no scope")
    tool = _tool(options)
    if described.client_streaming and (tool or said(options, annotations_pb2.http)):
        raise UnsupportedMethod("takes a stream, which neither REST nor MCP can send: offer it by gRPC only")
    if described.server_streaming and tool:
        raise UnsupportedMethod("answers with a stream, which a tool cannot")
    request, response = _message_class(described.input_type), _message_class(described.output_type)
    takes, gives = cast(Descriptor, request.DESCRIPTOR), cast(Descriptor, response.DESCRIPTOR)
    return Method(
        path=f"/{service}/{described.name}",
        service=service,
        name=described.name,
        request=request,
        response=response,
        bindings=tuple(_bindings(options, takes, gives)),
        scope=scope,
        tool=tool,
        effect=Effect(options.idempotency_level),
        streams=described.server_streaming,
        seconds=deadline(options, streams=described.server_streaming).usual,
        comment=comment,
    )


def _message_class(type_name: str) -> type[Message]:
    return GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(type_name.removeprefix(".")))


def _tool(options: MethodOptions) -> Tool | None:
    tool: options_pb2.Tool | None = said(options, options_pb2.tool)
    return Tool(tool.name, tool.title, tool.destructive) if tool else None


def _bindings(options: MethodOptions, request: Descriptor, response: Descriptor) -> Iterator[Binding]:
    rule: http_pb2.HttpRule | None = said(options, annotations_pb2.http)
    for each in (rule, *rule.additional_bindings) if rule else ():
        yield _binding(each, request, response)


def _binding(rule: http_pb2.HttpRule, request: Descriptor, response: Descriptor) -> Binding:
    verb = rule.WhichOneof("pattern") or ""
    if verb not in HTTP_VERBS:
        raise UnsupportedMethod("only get, put, post, delete and patch are supported")
    path = template(getattr(rule, verb))
    for name in path.fields:
        field = field_at(request, name)
        if field.message_type or field.is_repeated:
            raise UnsupportedMethod(f"{path.text}: {name} is not a single plain value")
    if rule.body and rule.body != WHOLE:
        _require_message(request, rule.body, path)
    if rule.response_body:
        _require_message(response, rule.response_body, path)
    if rule.body and verb in ("get", "delete"):
        raise UnsupportedMethod(f"{path.text}: {verb} has no body")
    return Binding(verb.upper(), path, rule.body, rule.response_body)


def _require_message(message: Descriptor, name: str, path: Template) -> None:
    field = field_at(message, name)
    if "." in name or not field.message_type or field.is_repeated:
        raise UnsupportedMethod(f"{path.text}: the body {name} is not a single message")


def answered(method: Method, binding: Binding) -> Descriptor:
    """What a call by a binding is answered with."""
    if not binding.response_body:
        return method.gives
    return cast(Descriptor, method.gives.fields_by_name[binding.response_body].message_type)


def field_at(message: Descriptor, path: str) -> FieldDescriptor:
    """The field at a dotted path, whose steps are single messages. ``UnsupportedMethod`` if there is none."""
    first, _, rest = path.partition(".")
    field: FieldDescriptor | None = message.fields_by_name.get(first)
    if field is None or (rest and (not field.message_type or field.is_repeated)):
        raise UnsupportedMethod(f"{message.name} has no field {path}")
    return field_at(field.message_type, rest) if field.message_type and rest else field

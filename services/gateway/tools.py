"""Methods as tools for agents: how each is shown, what it reads, what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from mcp import types
from treering.options.v1 import options_pb2

from services.gateway.catalog import Catalog, Effect, Method
from services.gateway.catalog import Tool as Shown
from services.gateway.options import said
from services.gateway.rules import required
from services.gateway.schema import Schemas
from services.gateway.transcoding.reading import Reader, reader
from services.gateway.transcoding.scalars import Wrong
from services.gateway.transcoding.writing import Writer, writer


@dataclass(frozen=True, slots=True)
class Tool:
    """A method that agents may call."""

    method: Method
    shown: types.Tool
    required: dict[str, str]
    """What to say where one of these is missing."""
    read: Reader
    write: Writer

    def request(self, arguments: dict[str, object]) -> Message:
        """The method's request. Raises ``Wrong`` for what is not there or not what it should be."""
        fields = self.read(arguments)
        for name, missing in self.required.items():
            if name not in fields:
                raise Wrong(missing, "json.required", f".{name}")
        return self.method.request(**fields)


def tools(catalog: Catalog) -> Iterator[Tool]:
    """Every tool of the catalog."""
    inputs = Schemas(catalog.comments, inputs=True, skip=hidden)
    outputs = Schemas(catalog.comments, inputs=False)
    for method in catalog.methods:
        if method.tool:
            yield _tool(method, method.tool, inputs, outputs)


def hidden(field: FieldDescriptor) -> bool:
    """Whether agents are not offered a field."""
    return bool(said(field.GetOptions(), options_pb2.tool_hidden))


def _tool(method: Method, tool: Shown, inputs: Schemas, outputs: Schemas) -> Tool:
    return Tool(
        method=method,
        shown=types.Tool(
            name=tool.name,
            title=tool.title,
            description=method.comment,
            input_schema=inputs.message(method.takes),
            output_schema=outputs.message(method.gives),
            annotations=_annotations(method, tool),
        ),
        required=required(method.takes),
        read=reader(method.takes, hidden),
        write=writer(method.gives),
    )


def _annotations(method: Method, tool: Shown) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        title=tool.title,
        read_only_hint=method.effect is Effect.READS,
        destructive_hint=tool.destructive,
        idempotent_hint=method.effect in (Effect.READS, Effect.IDEMPOTENT),
        open_world_hint=False,
    )

"""A proto file made in memory, with a field of every kind, for what ours do not have yet."""

from __future__ import annotations

from buf.validate import validate_pb2
from google.api import annotations_pb2
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from treering.options.v1 import options_pb2

from services.gateway.catalog import Catalog, read

EXTENSIONS = (annotations_pb2.http, options_pb2.scope, options_pb2.tool, validate_pb2.field)
"""Text below names them; they are known once their modules are imported."""

MESSAGES = """
name: "treering/specimen/v1/specimen.proto" package: "treering.specimen.v1" syntax: "proto3"
dependency: "google/protobuf/timestamp.proto" dependency: "google/protobuf/duration.proto"
dependency: "google/protobuf/struct.proto" dependency: "google/protobuf/any.proto"
dependency: "buf/validate/validate.proto" dependency: "treering/options/v1/options.proto"
enum_type {
  name: "LeafShape"
  value { name: "LEAF_SHAPE_UNSPECIFIED" number: 0 }
  value { name: "LEAF_SHAPE_OVAL" number: 1 }
  value { name: "LEAF_SHAPE_HEART" number: 2 options { [treering.options.v1.code]: "lovely" } }
}
message_type {
  name: "Leaf"
  field { name: "name" number: 1 type: TYPE_STRING json_name: "name" }
  field { name: "vein_count" number: 2 type: TYPE_INT32 json_name: "veinCount" }
}
message_type {
  name: "Branch"
  field { name: "leaf" number: 1 type: TYPE_MESSAGE
          type_name: ".treering.specimen.v1.Leaf" }
}
message_type {
  name: "Tree"
  field { name: "id" number: 1 type: TYPE_STRING json_name: "id"
          options { [buf.validate.field] { string { max_len: 40 } } } }
  field { name: "height" number: 2 type: TYPE_DOUBLE json_name: "height" }
  field { name: "girth" number: 3 type: TYPE_FLOAT json_name: "girth" }
  field { name: "seeds" number: 4 type: TYPE_INT64 json_name: "seeds" }
  field { name: "rings" number: 5 type: TYPE_UINT32 json_name: "rings" }
  field { name: "alive" number: 6 type: TYPE_BOOL json_name: "alive" }
  field { name: "sap" number: 7 type: TYPE_BYTES json_name: "sap" }
  field { name: "shape" number: 8 type: TYPE_ENUM
          type_name: ".treering.specimen.v1.LeafShape" }
  field { name: "planted" number: 9 type: TYPE_MESSAGE
          type_name: ".google.protobuf.Timestamp" }
  field { name: "growth" number: 10 type: TYPE_MESSAGE
          type_name: ".google.protobuf.Duration" }
  field { name: "notes" number: 11 type: TYPE_MESSAGE
          type_name: ".google.protobuf.Struct" }
  field { name: "branch" number: 12 type: TYPE_MESSAGE
          type_name: ".treering.specimen.v1.Branch" }
  field { name: "leaves" number: 13 type: TYPE_MESSAGE
          type_name: ".treering.specimen.v1.Leaf" label: LABEL_REPEATED }
  field { name: "counts" number: 14 type: TYPE_MESSAGE type_name: ".treering.specimen.v1.Tree.CountsEntry"
          label: LABEL_REPEATED }
  nested_type {
    name: "CountsEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING json_name: "key" }
    field { name: "value" number: 2 type: TYPE_UINT32 json_name: "value" }
  }
}
message_type {
  name: "Endless"
  field { name: "within" number: 1 type: TYPE_MESSAGE
          type_name: ".treering.specimen.v1.Endless" }
}
message_type {
  name: "Unreadable"
  field { name: "any" number: 1 type: TYPE_MESSAGE
          type_name: ".google.protobuf.Any" }
}
"""


def message(name: str) -> type[Message]:
    """The class of one of the specimen's messages."""
    _register()
    return GetMessageClass(descriptor(name))


def descriptor(name: str) -> Descriptor:
    """What one of the specimen's messages is made of."""
    _register()
    return descriptor_pool.Default().FindMessageTypeByName(f"treering.specimen.v1.{name}")


def enum(name: str) -> EnumDescriptor:
    """One of the specimen's enums."""
    _register()
    return descriptor_pool.Default().FindEnumTypeByName(f"treering.specimen.v1.{name}")


def catalog_of(*methods: str) -> Catalog:
    """The catalog of the specimen with one service of these methods, in the text format of descriptors."""
    _register()
    file = text_format.Parse(MESSAGES, FileDescriptorProto())
    service = file.service.add(name="TreeService")
    for method in methods:
        text_format.Parse(method, service.method.add())
    return read(FileDescriptorSet(file=[file]).SerializeToString())


def serve(name: str, *methods: str) -> str:
    """Make a service of these methods known, as generated code would, and answer its full name."""
    _register()
    package = "treering.specimen.v1"
    file = FileDescriptorProto(name=f"treering/specimen/v1/{name}.proto", package=package, syntax="proto3")
    file.dependency.append("treering/specimen/v1/specimen.proto")
    service = file.service.add(name=name)
    for method in methods:
        text_format.Parse(method, service.method.add())
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    return f"{package}.{name}"


def method(
    http: str = "",
    *,
    name: str = "Grow",
    takes: str = "Tree",
    options: str = '[treering.options.v1.scope]: "tree:read"',
    streams: str = "",
) -> str:
    """A method, with the fields of its http rule."""
    package = ".treering.specimen.v1."
    rule = f"[google.api.http] {{ {http} }}" if http else ""
    types = f'input_type: "{package}{takes}" output_type: "{package}Tree"'
    return f'name: "{name}" {types} {streams} options {{ {rule} {options} }}'


def _register() -> None:
    pool = descriptor_pool.Default()
    try:
        pool.FindFileByName("treering/specimen/v1/specimen.proto")
    except KeyError:
        pool.AddSerializedFile(text_format.Parse(MESSAGES, FileDescriptorProto()).SerializeToString())

"""Messages as JSON Schema, for OpenAPI and for tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from treering.options.v1 import options_pb2

from services.gateway import characters, rules
from services.gateway.options import said
from services.gateway.rules import Schema
from services.gateway.transcoding import enums, reading, scalars
from services.gateway.transcoding.reading import Skip

TIMESTAMP: Final = (
    r"^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
DURATION: Final = r"^-?[0-9]{1,11}(\.[0-9]{1,9})?s$"
BASE64: Final = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
ANYTHING: Final = "AnyJson"
"""The name of the schema of any value within an open object."""

TYPES: Final[Mapping[int, Schema]] = {
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_BYTES: {"type": "string", "contentEncoding": "base64", "pattern": BASE64},
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.TYPE_FLOAT: {"type": "number"},
    FieldDescriptor.TYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    FieldDescriptor.TYPE_FIXED32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    FieldDescriptor.TYPE_INT32: {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    FieldDescriptor.TYPE_SINT32: {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    FieldDescriptor.TYPE_SFIXED32: {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
}
WIDE: Final[Schema] = {"type": "string", "pattern": "^-?(0|[1-9][0-9]{0,18})$"}
"""Numbers of 64 bits, which are strings in JSON."""
UNSIGNED_WIDE: Final = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
UNSIGNED_WIDE_MAX: Final = 2**64 - 1


class Schemas:
    """How one door shows messages."""

    def __init__(
        self,
        comments: Mapping[str, str],
        *,
        inputs: bool,
        exact: bool = False,
        skip: Skip = lambda _: False,
        nested: Callable[[Descriptor], Schema] | None = None,
    ) -> None:
        """Set the manner of showing.

        ``inputs``: messages come in, so they are closed, their rules shown. ``exact``: programs read it, so
        also that ``null`` counts as absent and that no text holds NUL; agents are spared that. ``nested``
        shows messages within messages, which otherwise stand in place.
        """
        self._comments = comments
        self._inputs = inputs
        self._exact = exact
        self._skip = skip
        self._nested = nested or self.message

    def message(self, message: Descriptor, without: frozenset[str] = frozenset()) -> Schema:
        """A message as an object."""
        needed = rules.required(message) if self._inputs else _always(message)
        fields = [each for each in message.fields if each.name not in without and not self._skip(each)]
        schema: Schema = {"type": "object"}
        if comment := self._comments.get(message.full_name):
            schema["description"] = comment
        schema["properties"] = {each.name: self._property(each, each.name in needed) for each in fields}
        if names := [each.name for each in fields if each.name in needed]:
            schema["required"] = names
        if self._inputs:
            schema["additionalProperties"] = False
        return schema

    def field(self, field: FieldDescriptor) -> Schema:
        """A field's value."""
        own = rules.of(field)
        if field.message_type and field.message_type.GetOptions().map_entry:
            value = field.message_type.fields_by_name["value"]
            schema: Schema = {"type": "object", "additionalProperties": self._value(value, own.map.values)}
        elif field.is_repeated:
            schema = {"type": "array", "items": self._value(field, own.repeated.items)}
        else:
            return self._value(field, own)
        return schema | rules.keywords(own) if self._inputs else schema

    def described(self, field: FieldDescriptor) -> str:
        """What is said about a field, its enum's values included."""
        comment = self._comments.get(field.full_name, "")
        return f"{comment}\n\n{self._choices(field, field.enum_type)}".strip() if field.enum_type else comment

    def _property(self, field: FieldDescriptor, needed: bool) -> Schema:
        schema = self.field(field)
        if self._inputs and self._exact and not needed:
            schema = _nullable(schema)
        if comment := self.described(field):
            schema = schema | {"description": comment}
        return schema

    def _value(self, field: FieldDescriptor, own: validate_pb2.FieldRules) -> Schema:
        if field.enum_type:
            names = enums.short_names(field.enum_type)
            numbers = self._numbers(field.enum_type, own)
            return {"type": "string", "enum": [names[number] for number in numbers]}
        if field.message_type:
            return self._message(field.message_type)
        schema = TYPES.get(field.type) or (_wide(field, own) if self._inputs else WIDE)
        if not self._inputs:
            return {keyword: schema[keyword] for keyword in ("type", "contentEncoding") if keyword in schema}
        if not self._exact:  # what follows from the type is of no use to an agent
            schema = {keyword: value for keyword, value in schema.items() if keyword != "maximum"}
        schema = schema | rules.keywords(own)
        if self._exact and schema["type"] == "string" and not schema.keys() & {"format", "enum"}:
            allowed = _characters(field, required=bool(schema.get("minLength")))
            if "pattern" not in schema:
                schema["pattern"] = allowed
            elif said(field.GetOptions(), options_pb2.name):
                schema["allOf"] = [{"pattern": allowed}]
        return schema

    def _message(self, message: Descriptor) -> Schema:
        name = message.full_name
        if name not in reading.WELL_KNOWN:
            return self._nested(message)
        if name.endswith(".Struct"):
            return self._open_object()
        if name.endswith(".Duration"):
            return {"type": "string", "pattern": DURATION}
        exact = {"pattern": TIMESTAMP} if self._inputs and self._exact else {}
        return {"type": "string", "format": "date-time"} | exact

    def _open_object(self) -> Schema:
        if self._inputs and self._exact:
            return open_object()
        return {"type": "object", "additionalProperties": True}

    def _choices(self, field: FieldDescriptor, enum: EnumDescriptor) -> str:
        own = rules.of(field)
        numbers = self._numbers(enum, own.repeated.items if field.is_repeated else own)
        names = enums.short_names(enum)
        values = [enum.values_by_number[number] for number in numbers]
        told = [
            (names[each.number], self._comments.get(f"{enum.full_name}.{each.name}", "")) for each in values
        ]
        return "\n".join(f"- `{name}`: {comment}" for name, comment in told if comment)

    def _numbers(self, enum: EnumDescriptor, own: validate_pb2.FieldRules) -> list[int]:
        """The values that a field of an enum may have."""
        return rules.enum_numbers(enum, own) if self._inputs else list(enums.short_names(enum))


def _wide(field: FieldDescriptor, own: validate_pb2.FieldRules) -> Schema:
    """A number of 64 bits on its way in: digits or a number. A limit of nines is exact for both."""
    either: Schema = {"type": ["string", "integer"]}
    if field.type not in UNSIGNED_WIDE:
        return WIDE | either
    digits = len(str(own.uint64.lte or own.fixed64.lte or UNSIGNED_WIDE_MAX))
    return either | {"pattern": f"^(0|[1-9][0-9]{{0,{digits - 1}}})$", "minimum": 0}


def open_object() -> Schema:
    """Any JSON object without NUL in it. Its values are in the schema named ``ANYTHING``."""
    return {
        "type": "object",
        "propertyNames": {"pattern": characters.ANY, "minLength": 1, "maxLength": scalars.KEY_CHARS_MAX},
        "additionalProperties": {"$ref": f"#/components/schemas/{ANYTHING}"},
    }


def anything() -> Schema:
    """Any JSON value without NUL in it."""
    itself = {"$ref": f"#/components/schemas/{ANYTHING}"}
    text = {"type": "string", "pattern": characters.ANY}
    plain = [{"type": kind} for kind in ("number", "boolean", "null")]
    return {"anyOf": [text, *plain, {"type": "array", "items": itself}, open_object()]}


def _characters(field: FieldDescriptor, *, required: bool) -> str:
    """The pattern of a string's characters, by what the protos call it."""
    options = field.GetOptions()
    if said(options, options_pb2.name):
        pattern = characters.NAME
    elif said(options, options_pb2.text):
        pattern = characters.TEXT
    else:
        return characters.ANY
    return pattern if required else characters.or_empty(pattern)


def _always(message: Descriptor) -> frozenset[str]:
    return frozenset(field.name for field in message.fields if not field.has_presence)


def _nullable(schema: Schema) -> Schema:
    """The same, or ``null``, which stands for a field that is not there."""
    kind = schema.get("type")
    if kind is None:
        return {"anyOf": [schema, {"type": "null"}]}
    widened = schema | {"type": [*(kind if isinstance(kind, list) else [kind]), "null"]}
    return widened | {"enum": [*schema["enum"], None]} if "enum" in schema else widened

"""Rules of `buf.validate` as JSON Schema has them. What it cannot say, the services still check."""

from __future__ import annotations

from typing import Any, Final

import protovalidate
from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from libs.rpc.checking import in_own_words, own_words_first
from services.gateway.options import said
from services.gateway.transcoding import enums

Schema = dict[str, Any]

KEYWORDS: Final = {
    "min_len": "minLength",
    "max_len": "maxLength",
    "pattern": "pattern",
    "gte": "minimum",
    "gt": "exclusiveMinimum",
    "lte": "maximum",
    "lt": "exclusiveMaximum",
    "const": "const",
    "min_items": "minItems",
    "max_items": "maxItems",
    "unique": "uniqueItems",
    "min_pairs": "minProperties",
    "max_pairs": "maxProperties",
}
"""Rules of one value, by their names in every type. Lengths of bytes are not those of their base64."""
UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
MISSING: Final = "is missing"
LOWER_BOUNDS: Final = ("minLength", "pattern", "minimum", "exclusiveMinimum", "minItems", "minProperties")


def of(field: FieldDescriptor) -> validate_pb2.FieldRules:
    """A field's rules."""
    return said(field.GetOptions(), validate_pb2.field) or validate_pb2.FieldRules()


def keywords(rules: validate_pb2.FieldRules) -> Schema:
    """The keywords that rules are. Those of a list's items are in ``rules.repeated.items``."""
    kind = rules.WhichOneof("type")
    if kind is None or kind in ("bytes", "enum", "timestamp", "duration", "any", "field_mask"):
        return {}
    typed = getattr(rules, kind)
    schema: Schema = {
        KEYWORDS[rule.name]: value
        for rule, value in typed.ListFields()
        if rule.name in KEYWORDS and value != ""
    }
    if kind == "string":
        schema |= _string(rules.string)
    if rules.ignore != validate_pb2.IGNORE_IF_ZERO_VALUE:
        return schema
    return _or_zero(schema)


def enum_numbers(enum: EnumDescriptor, rules: validate_pb2.FieldRules) -> list[int]:
    """The numbers that an enum's rules leave."""
    left = list(getattr(rules.enum, "in")) or list(enums.short_names(enum))
    return [number for number in left if number not in rules.enum.not_in]


def required(message: Descriptor) -> dict[str, str]:
    """The fields without which a message breaks its rules, and what to say where one is missing.

    They are those that an empty message breaks.
    """
    empty = GetMessageClass(message)()
    missing: dict[str, str] = {}
    for found in own_words_first(protovalidate.collect_violations(empty)):
        path = found.proto.field.elements if found.proto.field else ()
        if len(path) == 1:
            missing[path[0].field_name] = found.proto.message if in_own_words(found) else MISSING
    return missing


def _string(rules: validate_pb2.StringRules) -> Schema:
    schema: Schema = {}
    if rules.len:
        schema |= {"minLength": rules.len, "maxLength": rules.len}
    if rules.uuid:
        schema["format"] = "uuid"
    if choices := list(getattr(rules, "in")):
        schema["enum"] = choices
    return schema


def _or_zero(schema: Schema) -> Schema:
    """The same keywords for a field whose empty value is not checked."""
    if schema.pop("format", None) == "uuid":
        return schema | {"pattern": f"^({UUID})?$"}
    if pattern := schema.get("pattern"):
        return schema | {"pattern": f"^$|{pattern}"}
    return {keyword: value for keyword, value in schema.items() if keyword not in LOWER_BOUNDS}

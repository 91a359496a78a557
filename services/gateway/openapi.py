"""OpenAPI 3.1, derived: what REST offers, for programs that read contracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from libs.rpc.methods import CALL_SECONDS
from services.gateway import schema, sse
from services.gateway.bodies import JSON
from services.gateway.catalog import WHOLE, Binding, Catalog, Method, answered
from services.gateway.problems import CODES, MEDIA_TYPE
from services.gateway.rules import Schema, required
from services.gateway.schema import Schemas
from services.gateway.transcoding.query import Parameter, parameters

PACKAGE: Final = "treering."
REASONS: Final = "treering.errors.v1.ErrorReason."
SECURITY: Final = "key"
ANY: Final = (400, 401, 403, 404, 406, 409, 413, 415, 429, 500, 503, 504)
"""What any operation may be refused with."""
OTHERS: Final = (405, 408, 431)
"""What answers a request that is no operation's, never came whole, or came with too much around it."""
ABOUT: Final = """\
Memory for AI agents.

Send `Authorization: Bearer <key>`.
Field names are in snake_case; camelCase is accepted too. Enums are short and in lower case.
What goes wrong is told as a problem document (RFC 9457) whose `reason` and `code` are stable."""
STREAMS: Final = """\
Server-sent events: each `data` is one answer, as JSON; a comment breaks every long silence.
The last event is `end`, or `error` with a problem document.
After {seconds:g} s that is `deadline_exceeded`: ask again."""


def document(catalog: Catalog, version: str) -> Schema:
    """The whole document."""
    components = Components(catalog.comments)
    paths: dict[str, Schema] = {}
    for method in catalog.methods:
        for index, binding in enumerate(method.bindings):
            there = paths.setdefault(binding.template.text, {})
            there[binding.verb.lower()] = _operation(method, binding, index, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Treering", "version": version, "description": ABOUT},
        "tags": _tags(catalog),
        "security": [{SECURITY: []}],
        "paths": paths,
        "components": {
            "securitySchemes": {SECURITY: {"type": "http", "scheme": "bearer", "description": "An API key."}},
            "headers": HEADERS,
            "responses": {f"Problem{status}": _problem_response(status) for status in (*ANY, *OTHERS)},
            "schemas": dict(sorted(components.schemas.items())),
        },
    }


class Components:
    """Schemas that stand once and are pointed at."""

    def __init__(self, comments: Mapping[str, str]) -> None:
        """Start with those that do not come from a message."""
        self.schemas: dict[str, Schema] = {schema.ANYTHING: schema.anything(), "Problem": problem(comments)}
        self.inputs = Schemas(comments, inputs=True, exact=True, nested=self._input)
        self.outputs = Schemas(comments, inputs=False, exact=True, nested=self.output)

    def output(self, message: Descriptor) -> Schema:
        """A pointer to a message that is answered."""
        return self._pointer(message, self.outputs, "")

    def _input(self, message: Descriptor) -> Schema:
        return self._pointer(message, self.inputs, "Input")

    def _pointer(self, message: Descriptor, schemas: Schemas, suffix: str) -> Schema:
        name = message.full_name.removeprefix(PACKAGE) + suffix
        if name not in self.schemas:
            self.schemas[name] = {}  # its place, while its own fields are looked at
            self.schemas[name] = schemas.message(message)
        return {"$ref": f"#/components/schemas/{name}"}


def problem(comments: Mapping[str, str]) -> Schema:
    """The schema of a problem document."""
    reasons = [
        f"- `{name.removeprefix(REASONS + 'ERROR_REASON_')}`: {comment.partition(chr(10) * 2)[0]}"
        for name, comment in comments.items()
        if name.startswith(REASONS) and not name.endswith("_UNSPECIFIED")
    ]
    texts = ("type", "title", "detail", "instance", "reason", "code", "request_id")
    violation = {name: {"type": "string"} for name in ("field", "description", "rule")}
    return {
        "type": "object",
        "description": "What went wrong (RFC 9457).",
        "properties": {
            **{name: {"type": "string"} for name in texts},
            "status": {"type": "integer"},
            "reason": {"type": "string", "description": "Stable.\n\n" + "\n".join(reasons)},
            "code": {"type": "string", "description": _codes()},
            "violations": {
                "type": "array",
                "description": "Each field that breaks a rule.",
                "items": {"type": "object", "properties": violation, "required": list(violation)},
            },
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            "retry_after": {"type": "number", "description": "Seconds after which to try again."},
        },
        "required": [*texts, "status", "violations"],
    }


def _codes() -> str:
    others = [f"`{code}` for `{reason}`" for reason, code in CODES.items() if code != reason.lower()]
    return "; ".join(["`reason` in lower case", *others]) + "."


HEADERS: Final[Schema] = {
    "RequestId": {"description": "The request's id, as it stands in the logs.", "schema": {"type": "string"}},
    "RetryAfter": {
        "description": "Seconds after which to try again.",
        "schema": {"type": "integer", "minimum": 1},
    },
}
EVENT: Final[Schema] = {
    "type": "object",
    "description": "One event; its data is JSON.",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
REQUEST_ID: Final[Schema] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}


def _operation(method: Method, binding: Binding, index: int, components: Components) -> Schema:
    summary, _, rest = method.comment.partition("\n")
    service = method.service.rpartition(".")[2]
    operation: Schema = {
        "operationId": f"{service}_{method.name}" + (f"_{index + 1}" if index else ""),
        "tags": [service],
        "summary": summary.removesuffix("."),
        "description": "\n\n".join(part for part in (rest.strip(), *_notes(method)) if part),
        "parameters": _parameters(method, binding, components.inputs),
        "responses": _responses(method, binding, components),
    }
    if binding.body:
        operation["requestBody"] = _body(method, binding, components.inputs)
    return operation


def _notes(method: Method) -> Iterator[str]:
    """What REST adds to what the proto says."""
    if method.streams:
        yield STREAMS.format(seconds=method.seconds)
    elif method.seconds > CALL_SECONDS:
        yield f"Takes {method.seconds:g} s at most."
    yield f"Scope: `{method.scope}`."


def _parameters(method: Method, binding: Binding, inputs: Schemas) -> list[Schema]:
    request = method.takes
    bound = frozenset(binding.template.fields)
    everything = parameters(request)
    needed = required(request)
    found = [_parameter(everything[name], "path", True, inputs) for name in binding.template.fields]
    if binding.body == WHOLE:
        return found
    in_query = parameters(request, bound | {binding.body})
    unique = {parameter.name: parameter for parameter in in_query.values()}
    return found + [_parameter(each, "query", name in needed, inputs) for name, each in unique.items()]


def _parameter(parameter: Parameter, place: str, needed: bool, inputs: Schemas) -> Schema:
    shape = inputs.field(parameter.field)
    if place == "path" and "format" not in shape:
        shape = {"minLength": 1} | shape
    comment = inputs.described(parameter.field)
    return {
        "name": parameter.name,
        "in": place,
        "required": needed,
        "schema": shape,
        **({"description": comment} if comment else {}),
    }


def _body(method: Method, binding: Binding, inputs: Schemas) -> Schema:
    request = method.takes
    if binding.body == WHOLE:
        shape = inputs.message(request, frozenset(binding.template.fields))
    else:
        field: FieldDescriptor = request.fields_by_name[binding.body]
        shape = inputs.field(field)
    needed = binding.body != WHOLE or bool(shape.get("required"))
    return {"required": needed, "content": {JSON: {"schema": shape}}}


def _responses(method: Method, binding: Binding, components: Components) -> Schema:
    media_type = sse.MEDIA_TYPE if method.streams else JSON
    shape = EVENT if method.streams else components.output(answered(method, binding))
    done = {"description": "Done.", "headers": REQUEST_ID, "content": {media_type: {"schema": shape}}}
    without_body = () if binding.body else (413, 415)
    refused = [status for status in ANY if status not in without_body]
    return {"200": done} | {
        str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in (*refused, *OTHERS)
    }


def _problem_response(status: int) -> Schema:
    retry: Schema = (
        {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}} if status in (404, 429, 503) else {}
    )
    return {
        "description": f"{HTTPStatus(status).phrase}.",
        "headers": REQUEST_ID | retry,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _tags(catalog: Catalog) -> list[Schema]:
    services = dict.fromkeys(method.service for method in catalog.methods if method.bindings)
    return [
        {"name": service.rpartition(".")[2], "description": catalog.comments.get(service, "")}
        for service in services
    ]

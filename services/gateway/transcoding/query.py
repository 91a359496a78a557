"""Path fields and query parameters into requests: text that becomes what JSON would have held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qsl

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from libs.errors import Malformed
from services.gateway.transcoding import reading, scalars
from services.gateway.transcoding.scalars import Read, Wrong

PARAMETERS_MAX: Final = 500
"""How many parameters a query may have."""
NESTING_MAX: Final = 4
"""How many dots a parameter's name may have."""
INTEGERS: Final = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
REALS: Final = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field that text can be read into."""

    field: FieldDescriptor
    steps: tuple[str, ...]
    """The names on the way to it."""
    read: Callable[[str], object]

    @property
    def name(self) -> str:
        """As it is written in a query."""
        return ".".join(self.steps)


def parameters(message: Descriptor, without: frozenset[str] = frozenset()) -> dict[str, Parameter]:
    """What a query may name, by each spelling, without the fields bound elsewhere."""
    found: dict[str, Parameter] = {}
    for spelling, parameter in _flat(message, ()):
        if parameter.name not in without and parameter.steps[0] not in without:
            found[parameter.name] = found[spelling] = parameter
    return found


def assign(request: dict[str, object], steps: tuple[str, ...], value: object) -> None:
    """Put a value where a dotted name leads."""
    for step in steps[:-1]:
        request = cast(dict[str, object], request.setdefault(step, {}))
    request[steps[-1]] = value


def read_query(query: bytes, known: Mapping[str, Parameter], request: dict[str, object]) -> None:
    """Read a query string into a request. Raises ``Wrong`` for what is unknown, repeated or no value."""
    many: dict[str, list[object]] = {}
    for spelling, text in _pairs(query):
        parameter = known.get(spelling)
        if parameter is None:
            raise Wrong("is not a parameter here", "query.unknown_parameter", spelling[:64])
        values = many.setdefault(parameter.name, [])
        if values and not parameter.field.is_repeated:
            raise Wrong("is given more than once", "query.duplicate", parameter.name)
        try:
            values.append(parameter.read(text))
        except Wrong as wrong:
            raise wrong.within(parameter.name) from None
    for name, values in many.items():
        parameter = known[name]
        assign(request, parameter.steps, values if parameter.field.is_repeated else values[0])


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX
        )
    except UnicodeError:
        raise Malformed("The query is not UTF-8.") from None
    except ValueError:
        raise Malformed(f"The query has more than {PARAMETERS_MAX} parameters.") from None


def _flat(message: Descriptor, steps: tuple[str, ...]) -> Iterator[tuple[str, Parameter]]:
    """Each plain field, as its spelling in camelCase and itself; those of single messages by dotted names."""
    for field in message.fields:
        path = (*steps, field.name)
        inner = field.message_type
        if inner is None or inner.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
            read = _reads(field, reading.single(field))
            yield field.camelcase_name, Parameter(field, path, read)
        elif not field.is_repeated and inner.full_name not in reading.WELL_KNOWN and len(path) < NESTING_MAX:
            for spelling, parameter in _flat(inner, path):
                yield f"{field.camelcase_name}.{spelling}", parameter


def _reads(field: FieldDescriptor, read: Read) -> Callable[[str], object]:
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return lambda text: read(BOOLEANS.get(text, text))
    if field.cpp_type in INTEGERS:
        return lambda text: read(int(text) if scalars.INTEGER.fullmatch(text) else text)
    if field.cpp_type in REALS:
        return lambda text: read(float(text) if scalars.NUMBER.fullmatch(text) else text)
    return read

"""Bad input for runs, results and the journal: in every field of a kind alike, and what only one can say.

Which fields there are is read from the protos, so that a new one is tried, or is missed by a test here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from treering.options.v1 import options_pb2

from services.gateway import rules
from services.gateway.catalog import Method
from services.gateway.options import said
from tests.catalogue.doors import BAD_PARAMS, GRPC, MCP, METHODS, REST, Request
from tests.catalogue.rows import NOBODY, Row, doors_of

RUN: Final = "<run>"
"""Stands for the id of the run that there is."""
EPISODE: Final = "<episode>"
"""Stands for the id of a run that has ended, which is in the journal."""
SERVICES: Final = tuple(f"treering.results.v1.{name}Service" for name in ("Results", "Run", "Journal"))
STREAMED: Final = "PutResultStream"
"""Takes a stream, which only gRPC can send: its rows are in the test of streams."""
OF_RESULTS: Final[Mapping[str, Method]] = {
    name: method for name, method in METHODS.items() if method.service in SERVICES and name != STREAMED
}
GOOD: Final[Mapping[str, Request]] = {
    "PutResult": {"workflow_id": "kept", "task_id": "never put", "content": "c"},
    "GetResult": {"workflow_id": "kept", "task_id": "t"},
    "WaitResult": {"workflow_id": "kept", "task_id": "t", "timeout": 0},
    "WatchResults": {"workflow_id": "kept", "timeout": 0},
    "GetResults": {"workflow_id": "kept", "task_ids": ["t"]},
    "ListSteps": {"workflow_id": "kept"},
    "AppendTurn": {"workflow_id": "kept", "role": "user", "content": "never said"},
    "ListTurns": {"workflow_id": "kept"},
    "StartRun": {"workflow_id": "never started"},
    "FinishRun": {"run_id": RUN, "status": "succeeded"},
    "CancelRun": {"run_id": RUN},
    "GetRunStatus": {"run_id": RUN},
    "ListRuns": {},
    "SearchRuns": {"query": "kept"},
    "GetRun": {"run_id": EPISODE},
}
"""For each method, a request that is fine but for what a row changes."""
WHOLE_NUMBERS: Final = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
IN_BODIES: Final = ("PutResult", "AppendTurn", "StartRun", "FinishRun", "CancelRun")
PATH_CHARS_MAX: Final = 10_000
THOROUGH: Final = frozenset({("PutResult", "workflow_id"), ("AppendTurn", "role"), ("PutResult", "attempt")})
"""Fields that are tried with everything; of the others a few values show that they are checked at all."""


def wrong(number: int, what: str, rpc: str, field: str, value: Any, named: str = "", **also: Any) -> Row:
    """A good request with one field changed, through every door that can say it."""
    request = {**GOOD[rpc], field: value, **also}
    return Row(number, f"{field} {what}", rpc, request, (named or field,), doors_of(rpc))


def unread(number: int, what: str, rpc: str, field: str, value: Any, named: str = "") -> Row:
    """The same with what only JSON can say, and what is none of a tool's arguments."""
    doors = tuple(door for door in doors_of(rpc) if door != GRPC)
    request = {**GOOD[rpc], field: value}
    return Row(number, f"{field} {what}", rpc, request, (named or field,), doors, mcp=BAD_PARAMS)


def told(number: int, what: str, rpc: str, field: str, value: Any, named: str = "") -> Row:
    """The same with what only a message can say."""
    return Row(number, f"{field} {what}", rpc, {**GOOD[rpc], field: value}, (named or field,), (GRPC,))


def _name(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    """Ids and roles: nothing hidden, nothing too long, no slash, and not nothing where one is needed."""
    own = rules.of(field)
    text = own.repeated.items.string if field.is_repeated else own.string
    values = [
        (8, "zero width", "a\u200bb"),
        (13, "blank", " \t"),
        (14, "one too long", "x" * (text.max_len + 1)),
        (86, "a megabyte", "x" * 1_000_000),
    ][: None if (rpc, field.name) in THOROUGH else 3]
    if (rpc, field.name) in THOROUGH:
        values += [
            (7, "rtl override", "a\u202eb"),
            (9, "tag characters", "a\U000e0041"),
            (11, "expands when normalised", "\u0958" * text.max_len),
            (12, "escape", "\x1b[31m"),
            (12, "line feed", "a\nb"),
        ]
    if text.pattern:
        values += [(58, "slash", "a/b"), (58, "path", "../../etc/passwd")]
    if text.min_len:
        values.append((13, "empty", ""))
    for number, what, value in values:
        row = wrong(number, what, rpc, field.name, [value] if field.is_repeated else value, _at(field, 0))
        yield _not_in_path(row, field.name)
    request = {**GOOD[rpc], field.name: ["t", "a\0b"] if field.is_repeated else "a\0b"}
    # In a query nothing has a place but by its name.
    doors = (GRPC,) if field.is_repeated else doors_of(rpc)
    yield Row(1, f"{field.name} NUL", rpc, request, (_at(field, 1),), doors, mcp=BAD_PARAMS)
    if rpc in IN_BODIES and field.name not in _in_path(rpc):
        yield unread(57, "of another type", rpc, field.name, 5)


def _at(field: FieldDescriptor, place: int) -> str:
    return f"{field.name}[{place}]" if field.is_repeated else field.name


def _in_path(rpc: str) -> tuple[str, ...]:
    return METHODS[rpc].bindings[0].template.fields


def _not_in_path(row: Row, field: str) -> Row:
    """An empty field in a path makes it another path, and no client sends one that is too long."""
    if 0 < len(row.request[field]) <= PATH_CHARS_MAX or field not in _in_path(row.rpc):
        return row
    return replace(row, doors=tuple(door for door in row.doors if door != REST))


def _id(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    for number, what, value in (
        (58, "path", "../../etc/passwd"),
        (58, "sql", "';drop table run;--"),
        (59, "braces", f"{{{NOBODY}}}"),
        (59, "no dashes", NOBODY.replace("-", "")),
        (59, "other digits", NOBODY.replace("6", "\u0666")),
    ):
        yield wrong(number, what, rpc, field.name, value)
    if rules.of(field).ignore == 0:
        yield _not_in_path(wrong(13, "empty", rpc, field.name, ""), field.name)


def _text(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    limit = rules.of(field).string.max_len
    doors = doors_of(rpc)
    if limit:
        yield wrong(14, "one too long", rpc, field.name, "x" * (limit + 1))
    if rules.of(field).string.min_len:
        yield wrong(13, "empty", rpc, field.name, "")
    yield wrong(13, "blank", rpc, field.name, " \n\u00a0")
    request = {**GOOD[rpc], field.name: "a\0b"}
    yield Row(1, f"{field.name} NUL", rpc, request, (field.name,), doors, mcp=BAD_PARAMS)
    row = unread(57, "of another type", rpc, field.name, ["x"])
    # In a query one value is written as a list of one is.
    yield row if rpc in IN_BODIES else replace(row, doors=(MCP,))


def _number(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    own = rules.of(field)
    limits = own.uint32 if own.HasField("uint32") else own.int32
    if limits.HasField("lte"):
        yield wrong(85, "one too many", rpc, field.name, limits.lte + 1)
    if limits.HasField("gte"):
        yield wrong(85, "one too few", rpc, field.name, limits.gte - 1)
    values = [(34, 2**32), (35, "1e3")]
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT32:
        yield unread(46, "-1", rpc, field.name, -1)
    if (rpc, field.name) in THOROUGH:
        values += [
            (34, 2**63),
            (36, int("9" * 399)),
            (35, " 12"),
            (37, "NaN"),
            (35, 1.5),
            (35, True),
            (57, [1]),
        ]
    for number, value in values:
        yield unread(number, repr(value)[:20], rpc, field.name, value)


def _enum(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    own, many = rules.of(field), field.is_repeated
    for value in (77, -1, 2**31 - 1):
        yield told(30, str(value), rpc, field.name, [1, value] if many else value, _at(field, 1))
    for value in ("nope", "", 77):
        row = unread(32, repr(value), rpc, field.name, [value] if many else value, _at(field, 0))
        yield replace(row, doors=(MCP,)) if many else row
        if many:  # a value in a query has no place but by its name
            yield replace(row, doors=(REST,), fields=(field.name,))
    if 0 in (own.repeated.items.enum if many else own.enum).not_in:
        value = ["unspecified"] if many else "unspecified"
        yield wrong(31, "unspecified", rpc, field.name, value, _at(field, 0))


def _page_token(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    for what, token in (("garbage", "hello"), ("made up", "A" * 80)):
        request = {**GOOD[rpc], field.name: token}
        yield Row(
            47, f"{field.name} {what}", rpc, request, (field.name,), doors_of(rpc), "INVALID_PAGE_TOKEN"
        )
    yield wrong(47, "of 513", rpc, field.name, "A" * 513)


def _fields() -> Iterator[Row]:
    """Rows of each field of each method, by its kind."""
    for rpc, method in OF_RESULTS.items():
        for field in method.takes.fields:
            yield from _of_kind(rpc, field)


def _of_kind(rpc: str, field: FieldDescriptor) -> Iterator[Row]:
    text = rules.of(field).string
    if said(field.GetOptions(), options_pb2.name):
        yield from _name(rpc, field)
    elif said(field.GetOptions(), options_pb2.text):
        yield from _text(rpc, field)
    elif field.enum_type:
        yield from _enum(rpc, field)
    elif field.name == "page_token":
        yield from _page_token(rpc, field)
    elif text.uuid:
        yield from _id(rpc, field)
    elif field.cpp_type in WHOLE_NUMBERS:
        yield from _number(rpc, field)


def _content() -> Iterator[Row]:
    """Values that are not what they say, or too much."""
    for number, what, value in (
        (22, "junk", "!!"),
        (23, "spare bits", "YR=="),
        (24, "url alphabet", "-_-_"),
        (24, "no padding", "YQ"),
        (25, "two in one", "YQ==YQ=="),
        (26, "line end", "YQ==\n"),
    ):
        yield wrong(number, f"base64 {what}", "PutResult", "content", value, encoding="base64")
    for number, what, value in (
        (16, "one byte more", "x" * 2_097_153),
        (17, "bytes, not characters", "x" * 2_097_151 + "ë"),
    ):
        request = {**GOOD["PutResult"], "content": value}
        yield Row(number, what, "PutResult", request, ("content",), reason="VALUE_TOO_LARGE", status=413)
    request = {**GOOD["PutResult"], "content": "a\0b"}
    yield Row(1, "content NUL", "PutResult", request, ("content",), mcp=BAD_PARAMS)
    yield unread(54, "null", "PutResult", "content", None)
    yield unread(57, "of another type", "PutResult", "content", 5)
    for value in ("utf8", "UTF-8", "gzip", ""):
        yield wrong(30, repr(value), "PutResult", "encoding", value)
    for value in ("text/html<script>", "text/plain\r\nX: y", "x/" + "y" * 126, "text", ""):
        yield wrong(29, repr(value[:9]), "PutResult", "content_type", value)
    yield wrong(14, "one too long", "PutResult", "error", "x" * 10_001, status="failed")
    yield wrong(13, "blank", "PutResult", "error", " \n", status="failed")
    yield wrong(31, "of a success", "PutResult", "error", "x")
    yield wrong(31, "of a success", "PutResult", "error", "x", status="succeeded")


def _others() -> Iterator[Row]:
    """What only one field, or two together, can say."""
    yield wrong(85, "2^63", "WatchResults", "after", 2**63)
    for number, value in ((46, -1), (34, 2**64), (35, "1e3"), (35, ""), (37, "NaN")):
        yield unread(number, repr(value), "WatchResults", "after", value)
    yield wrong(86, "101", "GetResults", "task_ids", [str(n) for n in range(101)])
    yield wrong(86, "one twice", "GetResults", "task_ids", ["t", "t"])
    yield wrong(13, "none", "GetResults", "task_ids", [])
    nul = {**GOOD["GetResults"], "task_ids": ["t", "a\0b"]}
    yield Row(1, "a task_id NUL", "GetResults", nul, ("task_ids",), (REST,))
    yield wrong(31, "with the last only", "GetResults", "last_only", True, "task_ids")
    for value in ("yes", "1", ""):
        yield unread(35, repr(value), "GetResults", "last_only", value)
    yield wrong(86, "six", "SearchRuns", "kinds", ["mission"] * 6)
    yield wrong(13, "nothing to be seen", "SearchRuns", "query", "\u3000\u200b\x1b")
    yield wrong(14, "one too long", "StartRun", "memory_owner", "x" * 256)
    yield wrong(31, "of a mission", "StartRun", "parent_run_id", RUN)
    yield wrong(31, "without a parent", "StartRun", "kind", "child", "parent_run_id")
    yield unread(42, "2^31", "StartRun", "ttl_seconds", 2**31)
    for rpc in IN_BODIES:
        for name, value in (("source", "ui"), ("profile_id", NOBODY), ("user", "x"), ("created_at", "x")):
            yield unread(52, "from outside", rpc, name, value)


def _absent() -> Iterator[Row]:
    """What is not there, by its reason."""

    def row(rpc: str, reason: str, **changed: Any) -> Row:
        request = {**GOOD[rpc], **changed}
        what = f"nothing {' '.join(changed)}"
        return Row(60, what, rpc, request, (), doors_of(rpc), reason, "NOT_FOUND", 404)

    for rpc in ("GetResult", "WaitResult", "WatchResults", "GetResults", "ListSteps", "ListTurns"):
        yield row(rpc, "RESULT_UNKNOWN", workflow_id="nobody's")
    for rpc in ("GetResult", "WaitResult"):
        yield row(rpc, "RESULT_NOT_READY", task_id="nothing")
        yield row(rpc, "RESULT_NOT_READY", task_id="")
    for rpc in ("FinishRun", "CancelRun", "GetRunStatus", "GetRun"):
        yield row(rpc, "RUN_NOT_FOUND", run_id=NOBODY)
    yield row("GetRun", "RUN_NOT_FOUND", run_id=RUN)
    yield row("StartRun", "RUN_NOT_FOUND", parent_run_id=NOBODY, kind="child")
    yield row("FinishRun", "RESULT_NOT_READY", final_task_id="nothing")
    yield Row(85, "part 1 of 1", "GetResult", {**GOOD["GetResult"], "part": 1}, ("part",))


ROWS: Final = (*_fields(), *_content(), *_others(), *_absent())

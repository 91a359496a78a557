"""Rows of names and ids: the same bad ones in every field that is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.catalogue.doors import BAD_PARAMS, GRPC, REST
from tests.catalogue.rows import GOOD, NOBODY, Row, doors_of, wrong

NIL: Final = "00000000-0000-0000-0000-000000000000"
NAMES: Final = (
    ("StartSession", "content_session_id"),
    ("StartSession", "agent_id"),
    ("ListSessions", "agent_id"),
    ("Observe", "actor"),
    ("Observe", "tags"),
    ("Observe", "aliases"),
    ("Observe", "idempotency_key"),
    ("Reinforce", "idempotency_key"),
    ("Search", "agent_id"),
    ("Search", "actor"),
    ("Search", "tags"),
    ("Search", "tags_all"),
    ("Search", "tags_none"),
    ("CreateProfile", "owner"),
    ("CreateProfile", "workspace"),
    ("CreateProfile", "profile"),
    ("CreateKey", "name"),
)
THOROUGH: Final = frozenset(
    {("StartSession", "content_session_id"), ("Observe", "tags"), ("CreateProfile", "owner")}
)
"""The fields that are tried with every bad name; of the others one shows that they are checked at all."""
LISTS: Final = ("tags", "tags_all", "tags_none", "aliases")
BAD_NAMES: Final = (
    (7, "rtl override", "a\u202eb"),
    (8, "zero width space", "a\u200bb"),
    (8, "zero width joiner", "a\u200db"),
    (8, "byte order mark", "\ufeffa"),
    (9, "tag characters", "a\U000e0041\U000e0042"),
    (11, "expands when normalised", "\ufdfa" * 1000),
    (12, "ansi escape", "\x1b[31mred"),
    (12, "line feed", "a\nb"),
    (12, "C1 control", "a\u0085b"),
    (13, "blank", " \t "),
    (14, "256 characters", "x" * 256),
    (86, "a megabyte", "x" * 1_000_000),
)
IDS: Final = (
    ("EndSession", "session_id"),
    ("GetSession", "session_id"),
    ("GetZReport", "session_id"),
    ("Observe", "session_id"),
    ("ObserveBatch", "session_id"),
    ("Search", "session_id"),
    ("ListMemories", "session_id"),
    ("GetMemory", "memory_id"),
    ("DeleteMemory", "memory_id"),
    ("UndeleteMemory", "memory_id"),
    ("Reinforce", "memory_id"),
    ("Promote", "memory_id"),
    ("Revise", "memory_id"),
    ("ListVersions", "memory_id"),
    ("Supersede", "memory_id"),
    ("Timeline", "memory_ids"),
    ("GetMemories", "memory_ids"),
    ("GetProfile", "profile_id"),
    ("CreateKey", "profile_id"),
    ("ListKeys", "profile_id"),
    ("EraseProfile", "profile_id"),
    ("GetErasure", "profile_id"),
    ("ExportProfile", "profile_id"),
)
CHANGED: Final = (
    ("Promote", "reason"),
    ("Revise", "content"),
    ("Supersede", "content"),
    ("ListVersions", "page_token"),
)
"""Texts of the rpcs that change memories."""
THOROUGH_IDS: Final = frozenset({"Observe", "GetMemory", "GetMemories", "GetProfile", "EraseProfile"})
BAD_IDS: Final = (
    (58, "path", "../../etc/passwd"),
    (58, "encoded path", "%2e%2e%2f"),
    (58, "slash", "a/b"),
    (58, "sql", "';drop table memory;--"),
    (59, "braces", f"{{{NOBODY}}}"),
    (59, "urn", f"urn:uuid:{NOBODY}"),
    (59, "no dashes", NOBODY.replace("-", "")),
    (59, "line feed", f"{NOBODY}\n"),
    (59, "other digits", NOBODY.replace("6", "\u0666")),
)


def _names() -> Iterator[Row]:
    """Bad names in every field that is a name."""
    for rpc, field in NAMES:
        named = f"{field}[0]" if field in LISTS else field
        doors = (GRPC, REST) if field == "idempotency_key" else doors_of(rpc)
        for number, what, name in BAD_NAMES if (rpc, field) in THOROUGH else BAD_NAMES[:1]:
            value = [name] if field in LISTS else name
            yield Row(number, f"{field} {what}", rpc, {**GOOD[rpc], field: value}, (named,), doors)


def _ids() -> Iterator[Row]:
    """Bad ids in every field that is one."""
    for rpc, field in IDS:
        many = field == "memory_ids"
        for number, what, written in BAD_IDS if rpc in THOROUGH_IDS else BAD_IDS[-1:]:
            value = [written] if many else written
            fields = (f"{field}[0]",) if many else (field,)
            yield Row(number, f"{field} {what}", rpc, {**GOOD[rpc], field: value}, fields, doors_of(rpc))


def _nul() -> Iterator[Row]:
    """NUL in every text: what reads arguments refuses it before a service sees it."""
    texts = [
        *NAMES,
        *IDS,
        ("Observe", "content"),
        ("Search", "query"),
        ("Brief", "topic"),
        ("ListSessions", "page_token"),
        *CHANGED,
    ]
    for rpc, field in texts:
        many = field in LISTS or field == "memory_ids"
        doors = (GRPC, REST) if field == "idempotency_key" else doors_of(rpc)
        value = [NOBODY, "a\0b"] if many else "a\0b"
        named = f"{field}[1]" if many else field
        yield Row(1, f"{field} NUL", rpc, {**GOOD[rpc], field: value}, (named,), doors, mcp=BAD_PARAMS)
    in_batch = [{"content": "fine", "type": "insight"}, {"content": "a\0b", "type": "insight"}]
    yield wrong(
        1, "NUL in a batch", "ObserveBatch", "observations[1].content", BAD_PARAMS, observations=in_batch
    )


def _not_found() -> Iterator[Row]:
    """Ids that are ids, of nothing."""
    reasons = {
        "session_id": "SESSION_NOT_FOUND",
        "memory_id": "MEMORY_NOT_FOUND",
        "GetErasure": "ERASURE_NOT_FOUND",
    }
    for rpc, field in IDS:
        if field == "memory_ids" or rpc in ("Search", "ListMemories", "ListKeys"):
            continue  # these find nothing, or say what is missing
        for what, written in (("nil", NIL), ("random", NOBODY)):
            yield Row(
                60,
                f"{field} {what}",
                rpc,
                {**GOOD[rpc], field: written},
                (),
                doors_of(rpc),
                reasons.get(rpc) or reasons.get(field, "PROFILE_NOT_FOUND"),
                "NOT_FOUND",
                404,
            )


NAMED: Final = (*_names(), *_ids(), *_nul(), *_not_found())

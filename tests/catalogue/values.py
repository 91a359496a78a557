"""Rows of values: too short, too long, too many, of another type, of no type at all."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from treering.access.v1 import quota_pb2

from tests.catalogue.doors import BAD_PARAMS, GRPC, REST
from tests.catalogue.place import PROFILE
from tests.catalogue.rows import GOOD, NOBODY, OBSERVE, Row, too_large, wrong, wrong_json, wrong_message

TIME_MAX: Final = 253_402_300_799
"""9999-12-31T23:59:59Z."""
TIME_MIN: Final = -62_135_596_800
"""0001-01-01T00:00:00Z."""


def deep(levels: int) -> dict[str, Any]:
    """An object of so many levels."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


TEXTS: Final = (
    wrong(13, "content empty", "Observe", "content", content=""),
    wrong(13, "content blank", "Observe", "content", content=" \n\t\u00a0\u200b"),
    wrong(13, "query empty", "Search", "query", query=""),
    wrong(13, "query blank", "Search", "query", query="  "),
    too_large(14, "content max + 1", "Observe", "content", content="x" * 50_001),
    too_large(14, "content max + 1 emojis", "Observe", "content", content="🌲" * 50_001),
    wrong(14, "query max + 1", "Search", "query", query="x" * 4001),
    wrong(13, "empty batch", "ObserveBatch", "observations", observations=[]),
    wrong(
        14,
        "batch of 101",
        "ObserveBatch",
        "observations",
        observations=[{"content": "x", "type": "insight"}] * 101,
    ),
    wrong(13, "no ids", "GetMemories", "memory_ids", memory_ids=[]),
    wrong(14, "51 ids", "GetMemories", "memory_ids", memory_ids=[NOBODY] * 51),
    wrong(14, "51 ids", "Timeline", "memory_ids", memory_ids=[NOBODY] * 51),
    *(
        wrong(34, f"{name} {limit}", "SetQuota", f"quota.{name}", quota={name: limit})
        for name in (field.name for field in quota_pb2.Quota.DESCRIPTOR.fields)
        for limit in (10**15, 2**63, 2**64 - 1)
    ),
    Row(13, "no quota", "SetQuota", {"profile_id": PROFILE}, ("quota",), (GRPC, REST)),
    wrong(85, "neighbors 11", "Timeline", "neighbors", neighbors=11),
    wrong(85, "limit 0", "Search", "limit", limit=0),
    wrong(85, "min_score 2", "Search", "min_score", min_score=2),
    wrong(38, "min_score just over 1", "Search", "min_score", min_score=1.0000001),
    wrong(38, "min_score below 0", "Search", "min_score", min_score=-5e-324),
    wrong(85, "token_budget 0", "Search", "token_budget", token_budget=0),
    wrong(14, "topic max + 1", "Brief", "topic", topic="x" * 4001),
    wrong(85, "token_budget 199", "Brief", "token_budget", token_budget=199),
    wrong(85, "token_budget 8001", "Brief", "token_budget", token_budget=8001),
    wrong(85, "token_budget max + 1", "Search", "token_budget", token_budget=1_000_001),
    wrong(31, "type unspecified", "Observe", "type", type="unspecified"),
    wrong(31, "ring unspecified", "Search", "rings[0]", rings=["unspecified"]),
    wrong(86, "10,000 tags", "Observe", "tags", tags=[str(n) for n in range(10_000)]),
    wrong(86, "65 aliases", "Observe", "aliases", aliases=[str(n) for n in range(65)]),
    wrong(86, "an empty tag", "Observe", "tags[1]", tags=["a", ""]),
    too_large(87, "metadata of a megabyte", "Observe", "metadata", metadata={"a": "x" * 1_000_000}),
    too_large(
        87, "metadata of 10,000 keys", "Observe", "metadata", metadata={f"k{n}": n for n in range(10_000)}
    ),
    wrong(49, "metadata 9 deep", "Observe", "metadata", metadata=deep(9)),
    wrong(87, "metadata key of 256", "Observe", "metadata", BAD_PARAMS, metadata={"k" * 256: 1}),
    wrong(87, "metadata key empty", "Observe", "metadata", BAD_PARAMS, metadata={"": 1}),
    Row(
        79,
        "idempotency key of 300",
        "Observe",
        {**OBSERVE, "idempotency_key": "k" * 300},
        ("idempotency_key",),
        (GRPC, REST),
    ),
    Row(
        47,
        "page token garbage",
        "ListSessions",
        {"page_token": "hello"},
        ("page_token",),
        reason="INVALID_PAGE_TOKEN",
    ),
    wrong(47, "page token of 513", "ListSessions", "page_token", page_token="x" * 513),
    *(
        Row(
            47,
            f"{field} garbage",
            rpc,
            {**GOOD[rpc], field: "hello"},
            (field,),
            (GRPC, REST),
            "INVALID_PAGE_TOKEN",
        )
        for rpc, field in (("ListErasures", "page_token"), ("ExportProfile", "after"))
    ),
    wrong(47, "after of 513", "ExportProfile", "after", after="x" * 513),
    wrong(58, "key id", "RevokeKey", "key_id", key_id="../../etc/passwd"),
    wrong(58, "key id of 65", "RevokeKey", "key_id", key_id="k" * 65),
    wrong(68, "unknown scope", "CreateKey", "scopes[0]", scopes=["everything"]),
    wrong(43, "expired at birth", "CreateKey", "expires_at", expires_at="2001-01-01T00:00:00Z"),
    Row(
        60,
        "key id of nobody",
        "RevokeKey",
        {"key_id": "nobody"},
        (),
        (GRPC, REST),
        "KEY_NOT_FOUND",
        "NOT_FOUND",
        404,
    ),
)

JSON_VALUES: Final = (
    *(
        wrong_json(number, f"type {value!r}", "Observe", "type", type=value)
        for number, value in (
            (30, 77),
            (30, -1),
            (32, "NOPE"),
            (32, ""),
            (32, 9),
            (32, ["insight"]),
            (32, True),
        )
    ),
    *(
        wrong_json(number, f"limit {str(value)[:20]!r}", "Search", "limit", limit=value)
        for number, value in (
            (33, 9_007_199_254_740_993),
            (34, 2**63),
            (34, 2**64),
            (34, 2**32),
            (46, -1),
            (35, "1e3"),
            (35, "١٢٣"),
            (35, "1_000"),
            (35, " 12\n"),
            (35, "12"),
            (35, 1.5),
            (35, True),
            (36, int("9" * 399)),
        )
    ),
    *(
        wrong_json(
            number,
            f"memories_max {str(value)[:20]!r}",
            "SetQuota",
            "quota.memories_max",
            quota={"memories_max": value},
        )
        for number, value in (
            (46, -1),
            (34, 2**64),
            (34, str(2**64)),
            (34, str(10**15)),
            (35, "1e3"),
            (35, "١٢٣"),
            (35, "1_000"),
            (35, " 12\n"),
            (35, ""),
            (35, 1.5),
            (35, True),
            (36, int("9" * 399)),
            (57, [1]),
        )
    ),
    *(
        wrong_json(57, f"quota {value!r}", "SetQuota", "quota", quota=value)
        for value in (5, "large", [], True)
    ),
    wrong_json(54, "quota null", "SetQuota", "quota", quota=None),
    wrong_json(52, "unknown limit", "SetQuota", "quota.memory_max", quota={"memory_max": 5}),
    *(
        wrong_json(number, f"page_size {value!r}", "ListSessions", "page_size", page_size=value)
        for number, value in (
            (46, -1),
            (34, 2**32),
            (35, "1e3"),
            (35, "١٢٣"),
            (35, "1_000"),
            (35, " 12\n"),
            (35, "+1"),
        )
    ),
    *(
        wrong_json(37, f"min_score {value!r}", "Search", "min_score", min_score=value)
        for value in ("NaN", "Infinity", "-Infinity", "0.5", True, [])
    ),
    *(
        wrong_json(number, f"occurred_at {value!r}", "Observe", "occurred_at", occurred_at=value)
        for number, value in (
            (43, "0000-01-01T00:00:00Z"),
            (43, "10000-01-01T00:00:00Z"),
            (43, "0001-01-01T00:00:00+00:01"),
            (43, "9999-12-31T23:59:59-00:01"),
            (43, "2026-02-30T00:00:00Z"),
            (43, "2026-01-01T00:00:00.1234567890Z"),
            (43, 1_700_000_000),
            (44, "2026-01-01T00:00:00"),
            (44, "2026-01-01"),
            (44, "2026-W01-1T00:00:00Z"),
            (44, "2026-01-01T23:59:60Z"),
            (44, "2026-01-01T24:00:00Z"),
            (44, "2026-01-01T00:00:00+2500"),
            (44, "2026-01-01 00:00:00Z"),
            (44, "٢٠٢٦-01-01T00:00:00Z"),
        )
    ),
    *(
        wrong_json(number, f"{name} from outside", "Observe", name, **{name: value})
        for number, name, value in (
            (45, "created_at", "2031-01-01T00:00:00Z"),
            (52, "quota", {"memories_max": 5}),
            (52, "memories_max", 5),
            (52, "source", "ui"),
            (52, "ring", "shock"),
            (52, "id", NOBODY),
            (52, "profile_id", NOBODY),
            (52, "Content", "x"),
            (84, "embedding", [0.1, 0.2]),
        )
    ),
    wrong_json(48, "offset", "ListSessions", "offset", offset=2**62),
    wrong_json(
        52,
        "unknown field in a batch",
        "ObserveBatch",
        "observations[0].ring",
        observations=[{"content": "x", "type": "insight", "ring": "shock"}],
    ),
    wrong_json(51, "two spellings", "Observe", "session_id", sessionId=NOBODY),
    wrong_json(57, "content of another type", "Observe", "content", content=5),
    wrong_json(57, "tags of another type", "Observe", "tags", tags="a"),
    wrong_json(57, "a tag of another type", "Observe", "tags[1]", tags=["a", None]),
    wrong_json(57, "metadata of another type", "Observe", "metadata", metadata=[1]),
    wrong_json(1, "NUL in metadata", "Observe", "metadata.a", metadata={"a": "x\0y"}),
    *(
        wrong_json(54, f"{name} null", "Observe", name, **{name: None})
        for name in ("session_id", "content", "type")
    ),
)

PROTO_VALUES: Final = (
    *(
        wrong_message(30, f"type {number}", "Observe", "type", type=number)
        for number in (77, -1, 2**31 - 1, -(2**31))
    ),
    wrong_message(30, "outcome 77", "Observe", "outcome", outcome=77),
    wrong_message(30, "ring 77", "Search", "rings[1]", rings=[1, 77]),
    wrong_message(30, "precision 77", "Search", "precision", precision=77),
    wrong_message(30, "state 77", "ListSessions", "state", state=77),
    *(
        wrong_message(37, f"min_score {value}", "Search", "min_score", min_score=value)
        for value in (float("nan"), float("inf"), float("-inf"), 1e308)
    ),
    *(
        wrong_message(43, f"{field} {stamp.seconds} {stamp.nanos}", rpc, field, **{field: stamp})
        for rpc, field in (
            ("Observe", "occurred_at"),
            ("Search", "since"),
            ("Search", "until"),
            ("CreateKey", "expires_at"),
        )
        for stamp in (
            Timestamp(seconds=TIME_MAX + 1),
            Timestamp(seconds=TIME_MIN - 1),
            Timestamp(seconds=2**63 - 1),
            Timestamp(seconds=-(2**63)),
            Timestamp(seconds=4_000_000_000, nanos=10**9),
            Timestamp(seconds=4_000_000_000, nanos=-1),
        )
    ),
    *(
        wrong_message(87, f"metadata {what}", "Observe", "metadata", metadata=Struct(fields={"a": value}))
        for what, value in (
            ("NaN", Value(number_value=float("nan"))),
            ("infinite", Value(number_value=float("inf"))),
            ("without a kind", Value()),
            ("NUL", Value(string_value="x\0y")),
        )
    ),
)

VALUES: Final = (*TEXTS, *JSON_VALUES, *PROTO_VALUES)

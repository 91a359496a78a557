"""What `strict` returns, on memories and questions of our own: `data/precision.jsonl`.

One half of the questions (`tune`) set the limits of `strict`; the other half (`apart`), about other projects
and people, tests them. Cases: plain; near (the same topic, another thing); scope (tags); alias; superseded
(only the newer fact is right); several; none (nothing in memory answers).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb
from treering.memory.v1.memory_service_pb2_grpc import MemoryServiceStub

BATCH = 100
HALVES = ("tune", "apart")
PRECISIONS = {"strict": pb.PRECISION_STRICT, "best 10": pb.PRECISION_BEST}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for one question."""

    half: str
    expected: frozenset[str]
    returned: frozenset[str]


async def run(stub: MemoryServiceStub) -> dict[str, Any]:
    """Load the memories, ask every question strictly and for the best ten, and sum up by half."""
    lines = [json.loads(line) for line in _text().splitlines()]
    ids = await _remember(stub, [line for line in lines if "memory" in line])
    questions = [line for line in lines if "question" in line]
    page: dict[str, Any] = {}
    for name, precision in PRECISIONS.items():
        outcomes = [await _ask(stub, question, ids, precision) for question in questions]
        page |= {
            f"{name}, {half}": _summary([one for one in outcomes if one.half == half]) for half in HALVES
        }
    return page


def _text() -> str:
    return (resources.files("bench") / "data" / "precision.jsonl").read_text(encoding="utf-8")


async def _remember(stub: MemoryServiceStub, lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Observe all memories in one session. The id of each by its name in the file."""
    started = await stub.StartSession(pb.StartSessionRequest(content_session_id="precision"))
    ids: dict[str, str] = {}
    for at in range(0, len(lines), BATCH):
        batch = lines[at : at + BATCH]
        request = pb.ObserveBatchRequest(
            session_id=started.session.id, observations=[_observation(line) for line in batch]
        )
        kept = (await stub.ObserveBatch(request)).memories
        ids |= {line["memory"]: one.id for line, one in zip(batch, kept, strict=True)}
    return ids


def _observation(line: Mapping[str, Any]) -> pb.Observation:
    at = Timestamp()
    at.FromDatetime(datetime.fromisoformat(line["at"]).replace(tzinfo=UTC))
    return pb.Observation(
        content=line["text"],
        type=memory.OBSERVATION_TYPE_INSIGHT,
        actor=line.get("actor", ""),
        occurred_at=at,
        tags=line["tags"],
        aliases=line.get("aliases", ()),
    )


async def _ask(
    stub: MemoryServiceStub, question: Mapping[str, Any], ids: Mapping[str, str], precision: pb.Precision
) -> Outcome:
    request = pb.SearchRequest(
        query=question["question"], tags_all=question.get("tags", ()), precision=precision
    )
    hits = (await stub.Search(request)).hits
    return Outcome(
        half=question["half"],
        expected=frozenset(ids[name] for name in question["expect"]),
        returned=frozenset(hit.memory_id for hit in hits),
    )


def _summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Precision and recall over all that was returned and expected."""
    right = sum(len(one.expected & one.returned) for one in outcomes)
    unanswerable = [one for one in outcomes if not one.expected]
    return {
        "questions": len(outcomes),
        "precision": right / max(1, sum(len(one.returned) for one in outcomes)),
        "recall": right / max(1, sum(len(one.expected) for one in outcomes)),
        "unanswerable left empty": sum(not one.returned for one in unanswerable) / max(1, len(unanswerable)),
    }

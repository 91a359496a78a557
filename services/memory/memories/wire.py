"""Messages of ``treering.memory.v1`` and what they mean here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from uuid import UUID

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.errors import invalid
from libs.messages import MESSAGE_BYTES_MAX, of_time, to_id, to_time
from services.memory.memories.memory import Kept, Memory, Neighbor, Stats
from services.memory.memories.metadata import Json
from services.memory.memories.observations import Raw
from services.memory.memories.rings import Outcome, Ring, Type, success_score
from services.memory.search.layers import Found, Hit
from services.memory.search.query import LIMIT, Filters, Query
from services.memory.sessions.session import Session
from services.memory.sessions.wire import counted, of_session


def to_raw(message: pb.ObserveRequest | pb.Observation, path: str = "") -> Raw:
    """An observation as it came in; ``path`` stands before the names of its fields."""
    return Raw(
        content=message.content,
        type=Type(message.type),
        outcome=Outcome(message.outcome),
        actor=message.actor,
        occurred_at=to_time(f"{path}occurred_at", message.occurred_at)
        if message.HasField("occurred_at")
        else None,
        tags=list(message.tags),
        aliases=list(message.aliases),
        metadata={key: to_json(f"{path}metadata", value) for key, value in message.metadata.fields.items()},
        idempotency_key=message.idempotency_key,
    )


def to_query(request: pb.SearchRequest) -> Query:
    """A search as it came in."""
    return Query(
        text=request.query,
        limit=request.limit if request.HasField("limit") else LIMIT,
        filters=Filters(
            rings=tuple(Ring(ring) for ring in request.rings),
            session_id=to_id("session_id", request.session_id) if request.session_id else None,
            agent=request.agent_id,
            actor=request.actor,
            tags=tuple(request.tags),
            tags_all=tuple(request.tags_all),
            tags_none=tuple(request.tags_none),
            since=to_time("since", request.since) if request.HasField("since") else None,
            until=to_time("until", request.until) if request.HasField("until") else None,
        ),
        min_score=request.min_score,
        strict=request.precision == pb.PRECISION_STRICT,
        token_budget=request.token_budget if request.HasField("token_budget") else None,
    )


def to_json(field: str, value: Value) -> Json:
    """A value of a Struct as a plain one."""
    match value.WhichOneof("kind"):
        case "struct_value":
            return {key: to_json(field, part) for key, part in value.struct_value.fields.items()}
        case "list_value":
            return [to_json(field, part) for part in value.list_value.values]
        case "string_value":
            return value.string_value
        case "number_value":
            return value.number_value
        case "bool_value":
            return value.bool_value
        case "null_value":
            return None
        case _:
            raise invalid(field, "must hold values of some kind", "metadata.value")


def to_ids(field: str, texts: Sequence[str]) -> list[UUID]:
    """Ids in their order, each once."""
    return list(dict.fromkeys(to_id(f"{field}[{at}]", text) for at, text in enumerate(texts)))


def of_memory(memory: Memory, *, whole: bool) -> memory_pb2.Memory:
    """A memory; ``whole`` with its full text."""
    texts = memory.texts
    return memory_pb2.Memory(
        id=str(memory.id),
        session_id=str(memory.session_id),
        ring=cast(memory_pb2.Ring, memory.ring),
        stage=cast(memory_pb2.Stage, memory.stage),
        type=cast(memory_pb2.ObservationType, memory.type),
        outcome=cast(memory_pb2.Outcome, memory.outcome),
        content=texts.content if whole else "",
        summary=texts.summary,
        essence=texts.essence,
        content_tokens=texts.content_tokens,
        summary_tokens=texts.summary_tokens,
        essence_tokens=texts.essence_tokens,
        actor=memory.labels.actor,
        occurred_at=of_time(memory.occurred_at),
        tags=memory.labels.tags,
        aliases=memory.labels.aliases,
        metadata=of_json(memory.metadata.fields) if memory.metadata else None,
        success_score=success_score(memory.successes, memory.failures),
        reinforcement_count=memory.reinforcement_count,
        access_count=memory.access_count,
        secrets_removed=memory.secrets_removed,
        embedding_state=memory_pb2.EMBEDDING_STATE_READY
        if memory.embedding_model
        else memory_pb2.EMBEDDING_STATE_PENDING,
        embedding_model=memory.embedding_model,
        position=memory.position,
        source=cast(memory_pb2.Source, memory.source),
        created_at=of_time(memory.created_at),
        updated_at=of_time(memory.updated_at),
        touched_at=of_time(memory.touched_at),
        ring_set_by=cast(memory_pb2.RingSetter, memory.placement.set_by),
        ring_confidence=memory.placement.confidence,
        ring_reason=memory.placement.reason,
        ring_note=memory.placement.note,
        version=memory.revision,
        valid_from=of_time(memory.occurred_at),
        valid_until=of_time(memory.valid_until) if memory.valid_until else None,
        superseded_by=str(memory.superseded_by or ""),
        repeats=memory.repeats,
    )


def of_outline(memory: Memory) -> memory_pb2.Memory:
    """A memory without its full text."""
    return of_memory(memory, whole=False)


def of_batch(kept: Sequence[Kept]) -> pb.ObserveBatchResponse:
    """What is now remembered. Texts are left out where all together would not fit into one message."""
    whole = pb.ObserveBatchResponse(memories=[of_memory(one.memory, whole=True) for one in kept])
    for fields in (("content",), ("summary", "essence", "metadata")):
        if whole.ByteSize() <= MESSAGE_BYTES_MAX:
            break
        for message in whole.memories:
            clear(message, fields)
    return whole


def of_found(found: Found) -> pb.SearchResponse:
    """What a search found."""
    return pb.SearchResponse(
        hits=[of_hit(hit) for hit in found.hits],
        degraded=found.degraded,
        tokens=sum(hit.tokens for hit in found.hits),
    )


def of_hit(hit: Hit) -> pb.Hit:
    """A memory that was found."""
    return pb.Hit(
        memory_id=str(hit.memory_id),
        session_id=str(hit.session_id),
        ring=cast(memory_pb2.Ring, hit.ring),
        stage=cast(memory_pb2.Stage, hit.stage),
        text=hit.text,
        score=hit.score,
        tokens=hit.tokens,
        type=cast(memory_pb2.ObservationType, hit.type),
        outcome=cast(memory_pb2.Outcome, hit.outcome),
        actor=hit.actor,
        occurred_at=of_time(hit.occurred_at),
        tags=hit.tags,
        ahead=hit.ahead,
    )


def of_timeline(
    memories: Sequence[Memory],
    sessions: Mapping[UUID, Session],
    neighbors: Mapping[UUID, Sequence[Neighbor]],
    related: Mapping[UUID, Sequence[Neighbor]],
) -> pb.TimelineResponse:
    """Memories in their places, the earliest first. What is least needed is left out where it is too much."""
    earliest = sorted(memories, key=lambda memory: (memory.occurred_at, memory.created_at, memory.id))
    entries = [
        pb.TimelineEntry(
            memory=of_outline(memory),
            session=of_session(sessions[memory.session_id]),
            neighbors=[of_neighbor(neighbor) for neighbor in neighbors.get(memory.id, ())],
            related=[of_neighbor(neighbor) for neighbor in related.get(memory.id, ())],
        )
        for memory in earliest
    ]
    response = pb.TimelineResponse(entries=entries)
    for fields in (("metadata",), ("aliases",), ("tags",)):
        if response.ByteSize() <= MESSAGE_BYTES_MAX:
            break
        for entry in response.entries:
            clear(entry.memory, fields)
    return response


def of_neighbor(neighbor: Neighbor) -> pb.Neighbor:
    """A memory beside another."""
    return pb.Neighbor(
        memory_id=str(neighbor.id),
        essence=neighbor.essence,
        position=neighbor.position,
        occurred_at=of_time(neighbor.occurred_at),
    )


def of_stats(stats: Stats, memories_max: int) -> pb.GetStatsResponse:
    """Counts, and how many memories there may be."""
    return pb.GetStatsResponse(
        memory_count=counted(sum(stats.rings.values())),
        rings=[
            pb.RingCount(ring=cast(memory_pb2.Ring, ring), count=count) for ring, count in stats.rings.items()
        ],
        stages=[
            pb.StageCount(stage=cast(memory_pb2.Stage, stage), count=count)
            for stage, count in stats.stages.items()
        ],
        session_count=counted(stats.sessions),
        open_session_count=counted(stats.open_sessions),
        content_tokens=counted(stats.content_tokens),
        pending_embeddings=counted(stats.pending),
        secrets_removed=counted(stats.secrets_removed),
        memories_max=memories_max,
    )


def of_json(fields: Mapping[str, Json]) -> Struct:
    """A plain object as a Struct."""
    struct = Struct()
    struct.update(fields)
    return struct


def clear(message: Message, fields: Sequence[str]) -> None:
    """Leave fields out."""
    for field in fields:
        message.ClearField(field)

"""Messages say what is meant, within what one message can hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2

from libs.errors import Invalid
from libs.messages import MESSAGE_BYTES_MAX, fitting, of_time, to_id, to_time
from services.memory.memories.memory import Kept, Memory, Placement, Texts
from services.memory.memories.metadata import Metadata
from services.memory.memories.observations import Labels
from services.memory.memories.rings import Outcome, Ring, RingSetter, Stage, Type
from services.memory.memories.wire import of_batch, of_memory, of_timeline, to_ids, to_json
from services.memory.sessions.session import Session, SessionState

NOW = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
MESSAGE_BYTES = 4 * 1024 * 1024
UNLABELLED = Labels()
AN_ID = "0a1b2c3d-0000-4000-8000-00000000000f"


def a_memory(content: str = "x", number: int = 1, labels: Labels = UNLABELLED, **fields: object) -> Memory:
    """A memory with nothing special."""
    return Memory(
        id=UUID(int=number),
        session_id=UUID(int=0),
        position=number,
        ring=Ring.FRESH,
        placement=Placement(RingSetter.NOBODY, None, "", ""),
        stage=Stage.FULL,
        type=Type.INSIGHT,
        outcome=Outcome.NOT_RECORDED,
        source=4,
        texts=Texts(content, "s", "e", 3, 2, 1),
        labels=labels,
        metadata=Metadata(fields),  # type: ignore[arg-type]
        successes=0,
        failures=0,
        reinforcement_count=0,
        access_count=0,
        secrets_removed=0,
        embedding_model="",
        occurred_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        touched_at=NOW,
        version=1,
        revision=1,
        valid_until=None,
        superseded_by=None,
        repeats=False,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        AN_ID.replace("-", ""),
        f"{{{AN_ID}}}",
        f"urn:uuid:{AN_ID}",
        f" {AN_ID}",
        f"{AN_ID}0",
        "../../etc/passwd",
    ],
)
def test_an_id_has_one_spelling(text: str) -> None:
    """Only 36 characters with dashes; the field is named."""
    with pytest.raises(Invalid) as caught:
        to_id("memory_id", text)

    assert caught.value.violations[0].field == "memory_id"


def test_ids_may_be_in_upper_case_and_count_once() -> None:
    """In their order, each once."""
    assert to_ids("ids", [AN_ID.upper(), str(UUID(int=1)), AN_ID]) == [UUID(AN_ID), UUID(int=1)]


@pytest.mark.parametrize(
    "moment", [datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC), NOW, datetime(9999, 12, 31, 23, 59, 59, 5, tzinfo=UTC)]
)
def test_times_go_and_come_back(moment: datetime) -> None:
    """To the microsecond, before 1970 too."""
    assert to_time("t", of_time(moment)) == moment


@pytest.mark.parametrize(
    "stamp",
    [
        Timestamp(seconds=-62_135_596_801),
        Timestamp(seconds=253_402_300_800),
        Timestamp(seconds=2**63 - 1),
        Timestamp(nanos=-1),
        Timestamp(nanos=1_000_000_000),
    ],
    ids=str,
)
def test_times_outside_the_calendar_are_refused(stamp: Timestamp) -> None:
    """Before any arithmetic on them."""
    with pytest.raises(Invalid):
        to_time("occurred_at", stamp)


def test_a_value_of_no_kind_is_refused() -> None:
    """JSON has none such."""
    with pytest.raises(Invalid):
        to_json("metadata", Value())


def test_a_list_shows_no_full_text() -> None:
    """An outline keeps the count of what it leaves out."""
    whole, outline = of_memory(a_memory(), whole=True), of_memory(a_memory(), whole=False)

    assert (whole.content, outline.content) == ("x", "")
    assert outline.content_tokens == 3
    assert outline.embedding_state == memory_pb2.EMBEDDING_STATE_PENDING


def test_a_batch_too_large_leaves_full_texts_out() -> None:
    """Of all of them, and nothing else."""
    memories = [a_memory("𝔘" * 50_000, number) for number in range(1, 101)]
    response = of_batch([Kept(memory, False) for memory in memories])

    assert response.ByteSize() <= MESSAGE_BYTES
    assert [memory.id for memory in response.memories] == [str(memory.id) for memory in memories]
    assert not any(memory.content for memory in response.memories)
    assert all(memory.summary for memory in response.memories)


def test_a_timeline_too_large_leaves_out_what_is_least_needed() -> None:
    """Metadata first; every memory stays, the earliest first."""
    session = Session(UUID(int=0), "s", "", SessionState.OPEN, 1, 1, NOW, NOW, None)
    tags = tuple(f"{'界' * 20}{number}" for number in range(20))
    memories = [
        replace(
            a_memory("x", number, Labels("", tags), note="y" * 80_000), occurred_at=NOW - timedelta(number)
        )
        for number in range(1, 51)
    ]
    response = of_timeline(memories, {session.id: session}, {}, {})

    assert response.ByteSize() <= MESSAGE_BYTES
    assert [entry.memory.position for entry in response.entries] == list(range(50, 0, -1))
    assert not any(entry.memory.HasField("metadata") for entry in response.entries)
    assert all(len(entry.memory.tags) == 20 for entry in response.entries)


def test_a_page_holds_what_fits_and_at_least_one() -> None:
    """Counted in bytes."""
    message = memory_pb2.Memory(content="x" * 1_000_000)

    assert fitting([message] * 10) == MESSAGE_BYTES_MAX // 1_000_000
    assert fitting([memory_pb2.Memory(content="x" * (MESSAGE_BYTES_MAX + 1))] * 2) == 1
    assert fitting([]) == 0

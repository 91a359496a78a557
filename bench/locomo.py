"""Retrieval on LoCoMo: is the turn that answers a question among the first hits?

The data are CC BY-NC 4.0 and not part of this repository: the file is given by its path. One memory a turn
with actor and time, one profile a conversation; recall is the share of a question's evidence that was found,
and the mean is over questions. Category 5 asks what was never said: it is shown, not counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2 as memory
from treering.memory.v1 import memory_service_pb2 as pb

from bench.people import Person

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "never said"}
COUNTED = (1, 2, 3, 4)
DEPTHS = (5, 10, 20)
GAIN_DEPTH = 10
BATCH = 100
AT_ONCE = 8
EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said at once."""

    id: str
    session: int
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """Who remembers a conversation, what is asked about it, and which memory is which turn."""

    person: Person
    questions: Sequence[Mapping[str, Any]]
    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question went: the places, from 0, at which its evidence was found."""

    category: int
    places: Sequence[int | None]

    def recall(self, depth: int) -> float:
        """The share of the evidence among the first hits."""
        return sum(place is not None and place < depth for place in self.places) / len(self.places)

    def gain(self) -> float:
        """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) with gains of 0 and 1."""
        won = sum(
            1 / math.log2(place + 2) for place in self.places if place is not None and place < GAIN_DEPTH
        )
        return won / sum(1 / math.log2(place + 2) for place in range(min(GAIN_DEPTH, len(self.places))))


async def run(path: Path, newcomer: Callable[[], Awaitable[Person]]) -> dict[str, Any]:
    """Load every conversation as a newcomer, ask all its questions, and sum up."""
    given = await answers(await loaded(path, newcomer))
    page: dict[str, Any] = {"sha256": hashlib.sha256(_content(path)).hexdigest()}
    page["categories 1 to 4"] = _summary([one for one in given if one.category in COUNTED])
    for category, name in CATEGORIES.items():
        page[f"{category} {name}"] = _summary([one for one in given if one.category == category])
    return page


async def loaded(path: Path, newcomer: Callable[[], Awaitable[Person]]) -> list[Conversation]:
    """Every conversation, remembered by a newcomer of its own."""
    conversations: list[Conversation] = []
    for sample in json.loads(_content(path)):
        person = await newcomer()
        ids = await _remember(person, list(_turns(sample["conversation"])))
        conversations.append(Conversation(person, sample["qa"], ids))
    return conversations


async def answers(conversations: Sequence[Conversation]) -> list[Answer]:
    """How all their questions go."""
    return [one for each in conversations for one in await _ask(each.person, each.questions, each.ids)]


def _content(path: Path) -> bytes:
    return path.read_bytes()


def _turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    numbers = takewhile(lambda number: f"session_{number}_date_time" in conversation, count(1))
    for number in numbers:
        start = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, turn in enumerate(conversation.get(f"session_{number}", ())):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            at = start.replace(tzinfo=UTC) + timedelta(seconds=place)
            yield Turn(turn["dia_id"], number, turn["speaker"], turn["text"] + caption, at)


async def _remember(person: Person, turns: Sequence[Turn]) -> dict[str, str]:
    """Observe all turns, session by session. The memory of each."""
    ids: dict[str, str] = {}
    for session in sorted({turn.session for turn in turns}):
        started = await person.memory.StartSession(pb.StartSessionRequest(content_session_id=str(session)))
        said = [turn for turn in turns if turn.session == session]
        for at in range(0, len(said), BATCH):
            batch = said[at : at + BATCH]
            kept = await person.memory.ObserveBatch(
                pb.ObserveBatchRequest(
                    session_id=started.session.id, observations=[_observation(turn) for turn in batch]
                )
            )
            ids |= {turn.id: one.id for turn, one in zip(batch, kept.memories, strict=True)}
        await person.memory.EndSession(pb.EndSessionRequest(session_id=started.session.id))
    return ids


def _observation(turn: Turn) -> pb.Observation:
    at = Timestamp()
    at.FromDatetime(turn.at)
    return pb.Observation(
        content=turn.text, actor=turn.speaker, occurred_at=at, type=memory.OBSERVATION_TYPE_INSIGHT
    )


async def _ask(
    person: Person, questions: Sequence[Mapping[str, Any]], ids: Mapping[str, str]
) -> list[Answer]:
    """Ask all questions that have evidence, a few at once."""
    room = asyncio.Semaphore(AT_ONCE)

    async def ask(question: Mapping[str, Any]) -> Answer | None:
        evidence = {ids[turn] for turn in _evidence(question) if turn in ids}
        if not evidence:
            return None
        async with room:
            request = pb.SearchRequest(query=question["question"], limit=max(DEPTHS))
            hits = (await person.memory.Search(request)).hits
        places = {hit.memory_id: place for place, hit in enumerate(hits)}
        return Answer(question["category"], [places.get(one) for one in evidence])

    answers = await asyncio.gather(*map(ask, questions))
    return [answer for answer in answers if answer is not None]


def _evidence(question: Mapping[str, Any]) -> Iterator[str]:
    """The turns that answer. Some are written together, or with a zero too many."""
    for written in question.get("evidence", ()):
        yield from (f"D{session}:{turn}" for session, turn in EVIDENCE.findall(written))


def _summary(answers: Sequence[Answer]) -> dict[str, float]:
    """Means over questions."""
    if not answers:
        return {"questions": 0}
    recalls = {
        f"recall@{depth}": sum(one.recall(depth) for one in answers) / len(answers) for depth in DEPTHS
    }
    gain = sum(one.gain() for one in answers) / len(answers)
    return {"questions": len(answers), **recalls, f"ndcg@{GAIN_DEPTH}": gain}

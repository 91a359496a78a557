"""Search through the front door: what is found, by whom and what, and how much of it is shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from treering.memory.v1 import memory_pb2
from treering.memory.v1 import memory_service_pb2 as pb

from libs.language.tokens import TokenCounter
from tests.rig.house import Caller
from tests.rig.refusals import refused

INSIGHT = memory_pb2.OBSERVATION_TYPE_INSIGHT
DECISION = memory_pb2.OBSERVATION_TYPE_DECISION
MIA = "Mia Ørsted"
DAY = 86_400

FACTS = [
    pb.Observation(
        content="We chose Postgres for the billing database.", type=DECISION, actor=MIA, tags=["db"]
    ),
    pb.Observation(content="The staging server restarts every night at three.", type=INSIGHT, tags=["ops"]),
    pb.Observation(content="My favourite tea is sencha.", type=INSIGHT, actor="Tom", tags=["taste", "drink"]),
    pb.Observation(content="部署需要绿色的构建。", type=INSIGHT, tags=["ops", "zh"]),
    pb.Observation(content="گزارش‌ها هر جمعه فرستاده می‌شوند.", type=INSIGHT, tags=["fa"]),
    pb.Observation(content="बैठक सोमवार को होती है।", type=INSIGHT, tags=["hi"]),
    pb.Observation(content="Kitaplarımızı kütüphaneye bıraktık.", type=INSIGHT, tags=["tr"]),
    pb.Observation(content="The gate code is 4471.", type=INSIGHT, aliases=["Narnia door", "纳尼亚"]),
]


async def remembered(house: Caller) -> list[str]:
    """The ids of ``FACTS``, observed a day apart in one session of the agent ``scribe``."""
    for at, fact in enumerate(FACTS):
        fact.occurred_at.FromSeconds((at + 1) * DAY)
    started = await house.memory.StartSession(
        pb.StartSessionRequest(content_session_id="facts", agent_id="scribe")
    )
    batch = pb.ObserveBatchRequest(session_id=started.session.id, observations=FACTS)
    return [memory.id for memory in (await house.memory.ObserveBatch(batch)).memories]


async def search(house: Caller, query: str, **fields: Any) -> pb.SearchResponse:
    """The answer to a search."""
    return await house.memory.Search(pb.SearchRequest(query=query, **fields))


async def found(house: Caller, query: str, **fields: Any) -> list[str]:
    """The ids of its hits."""
    return [hit.memory_id for hit in (await search(house, query, **fields)).hits]


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("which database did we pick?", 0),
        ("server restarts", 1),
        ("green tea preference", 2),
        ("绿色构建", 3),
        ("گزارش جمعه", 4),
        ("सोमवार बैठक", 5),
        ("kütüphane kitap", 6),
        ("how do I open the narnia DOOR?", 7),
        ("纳尼亚在哪里", 7),
        ("My favourite tea is sencha.", 2),
    ],
)
async def test_what_answers_comes_first(house: Caller, query: str, at: int) -> None:
    """By meaning, by words of any language, and by another name."""
    ids = await remembered(house)

    assert (await found(house, query))[0] == ids[at]


async def test_it_is_found_the_moment_it_is_acknowledged(house: Caller) -> None:
    """Observe, then search at once: it is there, whoever else writes."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))

    async def write_and_find(number: int) -> bool:
        content = f"token zq{number}x opens vault {number}"
        request = pb.ObserveRequest(session_id=started.session.id, content=content, type=INSIGHT)
        kept = await house.memory.Observe(request)
        return (await found(house, content))[0] == kept.memory.id

    assert all(await asyncio.gather(*(write_and_find(number) for number in range(20))))


async def test_scores_are_shares_and_exact_is_near_one(house: Caller) -> None:
    """Between 0 and 1, falling; the very text scores almost 1."""
    await remembered(house)
    hits = (await search(house, "The staging server restarts every night at three.")).hits
    scores = [hit.score for hit in hits]

    assert scores[0] > 0.95
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("limit", [1, 3, 8, 200, 10_000])
async def test_as_many_hits_come_as_were_asked_for(house: Caller, limit: int) -> None:
    """Exactly `limit` whenever that many exist, also when nothing matches well."""
    await remembered(house)

    assert len(await found(house, "quantum chromodynamics", limit=limit)) == min(limit, len(FACTS))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tags": ["OPS", "fa"]}, {1, 3, 4}),
        ({"tags_all": ["ops", "zh"]}, {3}),
        ({"tags_none": ["db", "ops", "taste"]}, {4, 5, 6, 7}),
        ({"tags": ["ops"], "tags_none": ["zh"]}, {1}),
        ({"actor": "mia ørsted"}, {0}),
        ({"actor": "Mia"}, set[int]()),
        ({"agent_id": "scribe", "tags": ["hi"]}, {5}),
        ({"agent_id": "Scribe"}, set[int]()),
        ({"since": Timestamp(seconds=7 * DAY)}, {6, 7}),
        ({"until": Timestamp(seconds=2 * DAY)}, {0}),
        ({"since": Timestamp(seconds=2 * DAY), "until": Timestamp(seconds=3 * DAY)}, {1}),
        ({"since": Timestamp(seconds=3 * DAY), "until": Timestamp(seconds=2 * DAY)}, set[int]()),
        ({"rings": [memory_pb2.RING_FRESH], "tags": ["db"]}, {0}),
        ({"rings": [memory_pb2.RING_SHOCK]}, set[int]()),
        ({"session_id": "00000000-0000-0000-0000-000000000000"}, set[int]()),
        ({"min_score": 1.0}, set[int]()),
    ],
    ids=str,
)
async def test_filters_reach_everything(house: Caller, fields: dict[str, Any], expected: set[int]) -> None:
    """What a filter leaves out is not found by any arm, and does not crowd out what it lets in."""
    ids = await remembered(house)

    assert set(await found(house, "database tea 构建 server", limit=200, **fields)) == {
        ids[at] for at in expected
    }


async def test_a_small_scope_is_filled_from_a_large_profile(house: Caller) -> None:
    """Ten memories with a tag among hundreds that match better: all ten come."""
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    for batch in range(3):
        items = [
            pb.Observation(content=f"deploy the service now, try {batch} {n}", type=INSIGHT)
            for n in range(100)
        ]
        await house.memory.ObserveBatch(
            pb.ObserveBatchRequest(session_id=started.session.id, observations=items)
        )
    rare = [pb.Observation(content=f"pears {n}", type=INSIGHT, tags=["fruit"]) for n in range(10)]
    request = pb.ObserveBatchRequest(session_id=started.session.id, observations=rare)
    ids = {memory.id for memory in (await house.memory.ObserveBatch(request)).memories}

    assert set(await found(house, "deploy the service", tags=["fruit"])) == ids


async def test_layer_one_shows_no_more_than_it_may(house: Caller) -> None:
    """M6: at most 150 tokens a hit, and never what only the full text has."""
    counter = TokenCounter()
    started = await house.memory.StartSession(pb.StartSessionRequest(content_session_id="s"))
    content = " ".join(f"Step {n} copied file {n}.txt to host{n}." for n in range(500))
    await house.memory.Observe(
        pb.ObserveRequest(session_id=started.session.id, content=content, type=INSIGHT)
    )

    [hit] = (await search(house, "which host got file 7?")).hits

    assert 0 < counter.count(hit.text) <= 150
    assert hit.tokens > counter.count(hit.text)


@pytest.mark.parametrize("budget", [1, 50, 300, 1000, 1_000_000])
async def test_a_budget_holds_and_is_never_empty(house: Caller, budget: int) -> None:
    """The tokens of all hits stay within it; at least one hit comes."""
    await remembered(house)
    answer = await search(house, "tea", token_budget=budget)

    assert answer.hits
    assert sum(hit.tokens for hit in answer.hits) == answer.tokens <= budget


async def test_an_empty_profile_finds_nothing(house: Caller) -> None:
    """No hit, and nothing that could not be searched."""
    assert await search(house, "anything") == pb.SearchResponse()


@pytest.mark.parametrize(
    "query", ["foo &&& bar", "'", ":*", "a OR 1=1; --", "%_%", "x " * 2000, "😀", "?!"], ids=repr
)
async def test_a_query_is_only_text(house: Caller, query: str) -> None:
    """No character of it is an operator."""
    await remembered(house)

    assert len(await found(house, query, limit=3)) == 3


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": " "}, "query"),
        ({"query": "a\0"}, "query"),
        ({"query": "x" * 4001}, "query"),
        ({"limit": 0}, "limit"),
        ({"rings": [0]}, "rings[0]"),
        ({"rings": [99]}, "rings[0]"),
        ({"session_id": "x"}, "session_id"),
        ({"tags": ["a\u200bb"]}, "tags[0]"),
        ({"min_score": 2.0}, "min_score"),
        ({"min_score": float("nan")}, "min_score"),
        ({"precision": 9}, "precision"),
        ({"token_budget": 0}, "token_budget"),
        ({"token_budget": 1_000_001}, "token_budget"),
        ({"since": Timestamp(seconds=253_402_300_800)}, "since"),
    ],
    ids=str,
)
async def test_wrong_searches_are_refused(house: Caller, fields: dict[str, Any], field: str) -> None:
    """The field is named."""
    request: dict[str, Any] = {"query": "x", **fields}
    code, _, named = await refused(search(house, **request))

    assert code == "INVALID_ARGUMENT"
    assert set(named) == {field}


async def test_a_found_memory_counts_as_read(house: Caller) -> None:
    """Soon after it was found, it says so."""
    await remembered(house)
    [hit] = (await search(house, "sencha", limit=1)).hits

    count = 0
    for _ in range(50):
        read = await house.memory.Timeline(pb.TimelineRequest(memory_ids=[hit.memory_id]))
        count = read.entries[0].memory.access_count
        if count:
            break
        await asyncio.sleep(0.1)
    assert count == 1

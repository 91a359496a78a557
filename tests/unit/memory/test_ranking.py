"""How candidates become an order and scores."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.memory.memories.rings import Ring
from services.memory.search.ranking import EXACT_MIN, Candidate, Scope, coverage, rank

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SESSION = UUID(int=7)
MIA, TOM = b"mia", b"tom"
SCOPE = Scope(usual_cosine=0.1, weights=[4.0, 2.0, 6.0], degraded=False)
PLAIN = Candidate(
    id=UUID(int=1),
    session_id=SESSION,
    position=1,
    ring=Ring.FRESH,
    occurred_at=NOW - timedelta(days=90),
    length=12,
    actor=None,
    asks=False,
    reinforcement_count=0,
    exact=False,
    called=False,
    cosine=0.4,
    bm25=3.0,
    terms=0b010,
)


def order(*candidates: Candidate, favoured: frozenset[bytes] = frozenset()) -> list[int]:
    """The ids of candidates, best first."""
    return [one.id.int for one in rank(candidates, SCOPE, favoured, NOW)]


def test_meaning_and_words_both_count() -> None:
    """A candidate closer in meaning, or with more of the words, comes first."""
    closer = replace(PLAIN, id=UUID(int=2), position=20, cosine=0.5)
    wordier = replace(PLAIN, id=UUID(int=3), position=40, bm25=9.0)

    assert order(PLAIN, closer, wordier) == [3, 2, 1]


@pytest.mark.parametrize("sure", [{"exact": True}, {"called": True}])
def test_exact_and_called_stand_before_everything(sure: dict[str, bool]) -> None:
    """What says just what was asked, or is called so by an alias, scores near 1, however poor it looks."""
    poor = replace(PLAIN, id=UUID(int=2), position=20, cosine=-0.2, bm25=0.0, **sure)
    good = replace(PLAIN, cosine=0.99, bm25=60.0)

    first, second = rank([good, poor], SCOPE, frozenset(), NOW)

    assert first.id.int == 2
    assert EXACT_MIN <= first.score <= 1
    assert second.score < EXACT_MIN


def test_actor_who_is_named_is_favoured() -> None:
    """Of two that match alike, the one said by whom the query names comes first."""
    hers = replace(PLAIN, id=UUID(int=2), position=20, actor=MIA)
    his = replace(PLAIN, id=UUID(int=3), position=40, actor=TOM)

    assert order(hers, his, favoured=frozenset({TOM})) == [3, 2]
    assert order(hers, his, favoured=frozenset({MIA})) == [2, 3]


def test_answer_comes_before_its_question() -> None:
    """A turn that asks in the words of the query stands behind the turn that answers it."""
    question = replace(PLAIN, actor=MIA, asks=True, cosine=0.6)
    answer = replace(PLAIN, id=UUID(int=2), position=2, actor=TOM, cosine=0.45)

    assert order(question, answer) == [2, 1]


def test_only_short_turns_lean_on_their_neighbours() -> None:
    """A short turn gains from those around it; a long one, or one that nobody said, speaks for itself."""
    strong = replace(PLAIN, actor=MIA, cosine=0.9)
    short = replace(PLAIN, id=UUID(int=2), position=2, actor=TOM)
    alone = replace(short, id=UUID(int=3), session_id=UUID(int=8))
    scores = {one.id.int: one.score for one in rank([strong, short, alone], SCOPE, frozenset(), NOW)}
    assert scores[2] > scores[3]

    for speaks_for_itself in (replace(short, length=300), replace(short, actor=None)):
        apart = replace(speaks_for_itself, id=UUID(int=3), session_id=UUID(int=8))
        ranked = rank([strong, speaks_for_itself, apart], SCOPE, frozenset(), NOW)
        scores = {one.id.int: one.score for one in ranked}
        assert scores[2] == scores[3]


def test_ring_reinforcement_and_age_only_decide_near_ties() -> None:
    """All that speaks for a memory whatever it says is worth less than a little more meaning."""
    kept = replace(
        PLAIN, id=UUID(int=2), position=20, ring=Ring.LONG_TERM, reinforcement_count=1000, occurred_at=NOW
    )
    closer = replace(PLAIN, id=UUID(int=3), position=40, cosine=0.45)

    assert order(PLAIN, kept, closer) == [3, 2, 1]


def test_equals_have_one_order() -> None:
    """The newer of two that score the same comes first, then the smaller id, in whatever order they come."""
    far = NOW - timedelta(days=40_000)
    same = [replace(PLAIN, id=UUID(int=n), position=20 * n, occurred_at=far) for n in (2, 3)]
    newer = replace(PLAIN, id=UUID(int=9), position=200, occurred_at=far + timedelta(seconds=1))

    assert [9, 2, 3] == order(*same, newer) == order(newer, *reversed(same))


def test_without_vectors_words_decide() -> None:
    """What cannot be compared by meaning is ranked by the words that it shares with the query."""
    every = replace(PLAIN, cosine=None, bm25=12.0, terms=0b111)
    some = replace(PLAIN, id=UUID(int=2), position=20, cosine=None, bm25=4.0, terms=0b001)
    none = replace(PLAIN, id=UUID(int=3), position=40, cosine=None, bm25=0.0, terms=0)

    ranked = rank([none, some, every], SCOPE, frozenset(), NOW)

    assert [one.id.int for one in ranked] == [1, 2, 3]
    assert ranked[0].score > 0.5 > ranked[2].score


def test_coverage_is_by_weight() -> None:
    """A rare word of the query counts more than a frequent one; a query without words has no coverage."""
    assert coverage(0b100, [4.0, 2.0, 6.0]) == 0.5
    assert coverage(0b111, [4.0, 2.0, 6.0]) == 1.0
    assert 0.0 == coverage(0, [4.0, 2.0, 6.0]) == coverage(0, [])


@given(
    st.lists(
        st.builds(
            replace,
            st.just(PLAIN),
            id=st.uuids(),
            position=st.integers(1, 40),
            cosine=st.none() | st.floats(-1, 1),
            bm25=st.floats(0, 1_000),
            length=st.integers(0, 9_000),
            actor=st.sampled_from([None, MIA, TOM]),
            asks=st.booleans(),
            exact=st.booleans(),
            called=st.booleans(),
        ),
        unique_by=(lambda one: one.position, lambda one: one.id),
    )
)
def test_scores_stay_between_0_and_1(candidates: list[Candidate]) -> None:
    """Whatever comes in, each candidate comes out once, in the order of scores between 0 and 1."""
    ranked = rank(candidates, SCOPE, frozenset({MIA}), NOW)
    scores = [one.score for one in ranked]

    assert sorted(one.id for one in candidates) == sorted(one.id for one in ranked)
    assert sorted(scores, reverse=True) == scores
    assert all(0 <= score <= 1 for score in scores)

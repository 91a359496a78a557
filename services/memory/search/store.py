"""What a search reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from libs.data import sql
from libs.data.keyring import Keyring, ProfileKeys
from libs.data.postgres import Database, Row
from libs.language.embeddings import Vector
from services.memory.memories import rows
from services.memory.memories.rings import Outcome, Ring, Stage, Type
from services.memory.search.layers import Found, Hit
from services.memory.search.precision import Kinship
from services.memory.search.query import Filters
from services.memory.search.ranking import Candidate, Ranked, Scope

PACKAGE = "services.memory.search"


@dataclass(frozen=True, slots=True)
class Look:
    """What the arms of a search look for, in words that are not blind yet."""

    text: str
    """The query as it came: a memory of exactly this text matches exactly."""
    terms: Sequence[str]
    phrases: Sequence[str]
    """What in the query may be an alias, folded."""
    vector: Vector | None
    """``None`` while no embedder answers."""
    model: str
    filters: Filters
    arm_limit: int
    """Candidates of each arm."""
    limit: int


Choose = Callable[[Sequence[Candidate], Scope], Sequence[Ranked]]
"""Which candidates are hits, best first."""
Settle = Callable[[Sequence[Ranked], Scope, Kinship], Sequence[Ranked]]
"""Which of them remain, once it is known how close they are to one another."""


class SearchStore:
    """Memories in Postgres, as a search sees them."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._queries = sql.load(PACKAGE)

    async def called(self, profile: UUID, names: Iterable[str]) -> Mapping[str, set[bytes]]:
        """Those of some folded names by which the profile knows somebody, each with the actors called so."""
        keys = await self._keyring.of(profile)
        by_mac = {keys.blind("actor", name): name for name in names}
        async with self._database.as_profile(profile) as connection:
            found = await connection.fetch(self._queries.names, profile, list(by_mac))
        known: dict[str, set[bytes]] = {}
        for row in found:
            known.setdefault(by_mac[row["mac"]], set()).add(row["actor_mac"])
        return known

    async def search(self, profile: UUID, look: Look, choose: Choose, settle: Settle | None = None) -> Found:
        """The hits that are chosen among the candidates, without the texts that they show."""
        keys = await self._keyring.of(profile)
        arguments = _arguments(keys, look)
        async with self._database.as_profile(profile) as connection:
            drawn = await connection.fetch(self._queries.search, profile, *arguments)
            if not drawn:
                return Found([], look.vector is None)
            scope = Scope(drawn[0]["usual_cosine"], drawn[0]["idfs"], drawn[0]["degraded"])
            best = choose([_candidate(row) for row in drawn], scope)
            if settle is not None and len(best) > 1:
                pairs = await connection.fetch(self._queries.kinship, profile, [one.id for one in best])
                kinship = {frozenset((pair["one"], pair["other"])): pair["cosine"] for pair in pairs}
                best = settle(best, scope, kinship)
            texts = await connection.fetch(self._queries.layer_one, profile, [one.id for one in best])
        by_id = {row["id"]: row for row in texts}
        hits = [hit_of(keys, by_id[one.id], one.score, ahead=one.ahead) for one in best if one.id in by_id]
        return Found(hits, scope.degraded)


def _candidate(row: Row) -> Candidate:
    return Candidate(
        id=row["id"],
        session_id=row["session_id"],
        position=row["position"],
        ring=Ring(row["ring"]),
        occurred_at=row["occurred_at"],
        length=row["length"],
        actor=row["actor_mac"],
        asks=row["asks"],
        reinforcement_count=row["reinforcement_count"],
        exact=row["exact"],
        called=row["called"],
        cosine=row["cosine"],
        bm25=row["bm25"],
        terms=row["terms"],
    )


def _arguments(keys: ProfileKeys, look: Look) -> tuple[Any, ...]:
    """From ``$2`` on."""
    filters = look.filters
    return (
        look.vector,
        look.model,
        [keys.term(term) for term in look.terms],
        [keys.blind("alias", phrase) for phrase in look.phrases],
        keys.blind("content", look.text),
        look.arm_limit,
        look.limit,
        list(filters.rings) or None,
        filters.session_id,
        rows.blind_id(keys, "agent", filters.agent) if filters.agent else None,
        rows.blind_name(keys, "actor", filters.actor) if filters.actor else None,
        _tags(keys, filters.tags),
        _tags(keys, filters.tags_all),
        _tags(keys, filters.tags_none),
        filters.since,
        filters.until,
    )


def _tags(keys: ProfileKeys, tags: Sequence[str]) -> list[bytes] | None:
    return [rows.blind_name(keys, "tag", tag) for tag in tags] or None


def hit_of(keys: ProfileKeys, row: Row, score: float, *, ahead: bool = False) -> Hit:
    """A row as a search shows it."""
    texts, labels = rows.texts_of(keys, row), rows.labels_of(keys, row)
    return Hit(
        memory_id=row["id"],
        session_id=row["session_id"],
        ring=Ring(row["ring"]),
        stage=Stage(row["stage"]),
        type=Type(row["type"]),
        outcome=Outcome(row["outcome"]),
        score=score,
        ahead=ahead,
        summary=texts.summary,
        essence=texts.essence,
        actor=labels.actor,
        tags=labels.tags,
        occurred_at=row["occurred_at"],
    )

"""Messages of the journal in ``treering.results.v1``, and what they mean here."""

from __future__ import annotations

from typing import cast

from treering.results.v1 import journal_pb2, run_pb2
from treering.results.v1 import journal_service_pb2 as pb

from libs.messages import of_time
from services.results.journal.look import KINDS, LIMIT, LIMIT_MAX, Hit, Look, Order
from services.results.journal.snippets import excerpt
from services.results.runs.episode import Episode
from services.results.runs.run import Kind


def to_look(request: pb.SearchRunsRequest) -> Look:
    """A search, with the defaults of what was not given."""
    return Look(
        query=request.query,
        limit=min(request.limit or LIMIT, LIMIT_MAX),
        kinds=[Kind(kind) for kind in request.kinds] or KINDS,
        order=Order(request.order or Order.RELEVANCE),
    )


def of_hit(hit: Hit) -> journal_pb2.JournalHit:
    """A run that was found."""
    episode = hit.episode
    return journal_pb2.JournalHit(
        run_id=str(episode.run_id),
        workflow_id=episode.workflow_id,
        kind=cast(run_pb2.RunKind, episode.kind),
        status=cast(run_pb2.Status, episode.status),
        goal=excerpt(episode.goal),
        snippet=hit.snippet,
        ended_at=of_time(episode.ended_at),
        score=hit.score,
    )


def of_episode(episode: Episode) -> journal_pb2.Episode:
    """All that is kept of a run."""
    return journal_pb2.Episode(
        run_id=str(episode.run_id),
        workflow_id=episode.workflow_id,
        kind=cast(run_pb2.RunKind, episode.kind),
        status=cast(run_pb2.Status, episode.status),
        goal=episode.goal,
        outcome=episode.outcome,
        ended_at=of_time(episode.ended_at),
    )

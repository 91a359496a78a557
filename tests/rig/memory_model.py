"""What MemoryService has to do, said once more as simply as it can be: the model that it is tried against."""

from __future__ import annotations

from dataclasses import dataclass, field

from treering.memory.v1 import memory_pb2, session_pb2
from treering.memory.v1 import memory_service_pb2 as pb

SUCCESS, FAILURE = memory_pb2.OUTCOME_SUCCESS, memory_pb2.OUTCOME_FAILURE
FRESH, PRACTICE, LONG_TERM, SHOCK = (
    memory_pb2.RING_FRESH,
    memory_pb2.RING_PRACTICE,
    memory_pb2.RING_LONG_TERM,
    memory_pb2.RING_SHOCK,
)
PROCEDURE = memory_pb2.RING_PROCEDURE


@dataclass(frozen=True)
class Seen:
    """An observation as it is sent."""

    content: str
    outcome: int
    key: str

    def message(self) -> pb.Observation:
        """For a batch."""
        return pb.Observation(
            content=self.content,
            outcome=memory_pb2.Outcome.Name(self.outcome),
            idempotency_key=self.key,
            type=memory_pb2.OBSERVATION_TYPE_INSIGHT,
        )


@dataclass
class Remembered:
    """What the model knows of a memory."""

    id: str
    session: str
    content: str
    position: int
    outcome: int = 0
    reinforced: int = 0
    successes: int = 0
    failures: int = 0
    helped: int = 0
    ring: int = FRESH
    by_caller: bool = False
    versions: list[str] = field(default_factory=list[str])
    """What it said before, the first version first."""
    successor: str = ""

    def settle(self, *, grew: bool) -> None:
        """Outcomes and repetition move it."""
        known = self.successes + self.failures + 2
        fails = self.failures >= 3 and (self.successes + 1) * 10 < 3 * known
        ring = self.ring
        if ring == LONG_TERM and not self.earned:
            ring = PRACTICE
        elif ring == PRACTICE and fails:
            ring = FRESH
        elif ring == FRESH and grew and self.reinforced >= 2 and not fails and not self.by_caller:
            ring = PRACTICE
        if ring != self.ring:
            self.ring, self.by_caller = ring, False

    @property
    def earned(self) -> bool:
        """Whether it may stand in LONG_TERM."""
        return (self.successes + 1) * 10 >= 7 * (self.successes + self.failures + 2)

    def again(self, outcome: int) -> None:
        """It was observed, for the first time or once more."""
        self.outcome = outcome or self.outcome
        self.successes += outcome == SUCCESS
        self.failures += outcome == FAILURE

    @property
    def shown(self) -> tuple[object, ...]:
        """What the service has to show of it."""
        recorded = self.successes + self.failures
        score = (self.successes + 1) / (recorded + 2) if recorded else None
        return (
            self.id,
            self.session,
            self.content,
            self.position,
            self.outcome,
            self.reinforced,
            score,
            self.ring,
            1 + len(self.versions),
            self.successor,
        )


@dataclass
class Session:
    """What the model knows of a session."""

    id: str
    name: str
    open: bool = True
    positions: int = 0
    report: pb.EndSessionResponse | None = None


@dataclass
class Used:
    """What an idempotency key was used for."""

    session: str
    seen: Seen
    reinforced: bool
    memory: Remembered


@dataclass
class Model:
    """What a profile remembers."""

    memories_max: int
    """Its quota."""
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    memories: list[Remembered] = field(default_factory=list[Remembered])
    """In the order in which they were made."""
    deleted: list[Remembered] = field(default_factory=list[Remembered])
    """Those that can be brought back."""
    born: list[str] = field(default_factory=list[str])
    """All ids there ever were, in the order in which they were made."""
    keys: dict[str, Used] = field(default_factory=dict[str, Used])

    def find(self, session: str, content: str) -> Remembered | None:
        """The memory of a text in a session, if it still holds."""
        alike = (
            one
            for one in self.memories
            if (one.session, one.content) == (session, content) and not one.successor
        )
        return next(alike, None)

    def kept_by(self, session: str, seen: Seen) -> Remembered | None:
        """The memory that its key names as long as that is there, otherwise the one of its words."""
        used = self.keys.get(seen.key)
        if used and any(one is used.memory for one in self.memories):
            return used.memory
        return self.find(session, seen.content)

    def promoted(self, session: str, report: session_pb2.ZReport) -> None:
        """A report of what went well is a memory of its session, too."""
        recorded = report.success_count + report.failure_count
        earned = 10 * (report.success_count + 1) >= 7 * (recorded + 2)
        assert bool(report.z_report_memory_id) == earned
        if earned:
            self.sessions[session].positions += 1
            position = self.sessions[session].positions
            text = f"Z-report: {report.summary}"
            made = Remembered(report.z_report_memory_id, session, text, position, SUCCESS)
            made.ring = LONG_TERM
            made.successes, made.failures = report.success_count, report.failure_count
            self.memories.append(made)
            self.born.append(made.id)

    def report(self, session: str) -> session_pb2.ZReport | None:
        """A session's report as it is read now: it leads to no memory that is not there."""
        told = self.sessions[session].report
        if told is None:
            return None
        read = session_pb2.ZReport()
        read.CopyFrom(told.z_report)
        if read.z_report_memory_id not in [one.id for one in self.memories]:
            read.ClearField("z_report_memory_id")
        return read

    def observe(self, session: str, seen: list[Seen]) -> str:
        """Keep all, or answer the reason why none is kept."""
        asked = {one.key: (session, one) for one in reversed(seen) if one.key}
        asked |= {key: (used.session, used.seen) for key, used in self.keys.items()}
        if any(asked[one.key] != (session, one) for one in seen if one.key):
            return "IDEMPOTENCY_KEY_REUSED"
        fresh = [at for at in range(len(seen)) if self._is_fresh(seen, at)]
        if fresh and not self.sessions[session].open:
            return "SESSION_CLOSED"
        texts = {seen[at].content for at in fresh}
        if any(not self.kept_by(session, one) and one.content not in texts for one in seen):
            return "MEMORY_NOT_FOUND"
        new = {text for text in texts if not self.find(session, text)}
        if new and len(self.memories) + len(new) > self.memories_max:
            return "QUOTA_EXCEEDED"
        before = [(one, one.reinforced) for one in self.memories]
        for at in fresh:
            self._keep(session, seen[at])
        for one, reinforced in before:
            if one.reinforced > reinforced:
                one.settle(grew=True)
        return ""

    def promote(self, memory: Remembered, ring: int, *, confirmed: bool) -> str:
        """Put a memory into a ring, or answer the reason why not."""
        if memory.successor:
            return "MEMORY_SUPERSEDED"
        if ring == LONG_TERM and not memory.earned:
            return "RING_NOT_EARNED"
        if memory.ring == SHOCK != ring and not confirmed:
            return "SHOCK_STAYS"
        memory.ring, memory.by_caller = ring, True
        return ""

    def revise(self, memory: Remembered, content: str) -> str:
        """Give a memory new content, or answer the reason why not."""
        if memory.successor:
            return "MEMORY_SUPERSEDED"
        if content != memory.content:
            if self.find(memory.session, content):
                return "CONTENT_KEPT"
            memory.versions.append(memory.content)
            memory.content = content
        return ""

    def supersede(self, memory: Remembered, content: str) -> str:
        """Close a memory with a newer one, or answer the reason why not."""
        if memory.successor:
            return "MEMORY_SUPERSEDED"
        if memory.content == content:
            return "INVALID_FIELD"
        newer = self.find(memory.session, content)
        if newer is None:
            if len(self.memories) >= self.memories_max:
                return "QUOTA_EXCEEDED"
            self.sessions[memory.session].positions += 1
            newer = Remembered("", memory.session, content, self.sessions[memory.session].positions)
            self.memories.append(newer)
        if memory.ring in (PROCEDURE, SHOCK):
            newer.ring, newer.by_caller = memory.ring, memory.by_caller
        memory.successor = newer.id or "new"
        return ""

    def delete(self, memory: Remembered) -> None:
        """Take a memory out of everything."""
        self.memories.remove(memory)
        self.deleted.append(memory)

    def undelete(self, memory: Remembered) -> str:
        """Bring a memory back to its place, or answer the reason why not."""
        if not memory.successor and self.find(memory.session, memory.content):
            return "CONTENT_KEPT"
        if len(self.memories) >= self.memories_max:
            return "QUOTA_EXCEEDED"
        self.deleted.remove(memory)
        self.memories = sorted([*self.memories, memory], key=lambda one: self.born.index(one.id))
        return ""

    def _is_fresh(self, seen: list[Seen], at: int) -> bool:
        key = seen[at].key
        return not key or (key not in self.keys and key not in [before.key for before in seen[:at]])

    def _keep(self, session: str, seen: Seen) -> None:
        there = self.find(session, seen.content)
        reinforced = there is not None
        if there is None:
            self.sessions[session].positions += 1
            there = Remembered("", session, seen.content, self.sessions[session].positions)
            self.memories.append(there)
        else:
            there.reinforced += 1
        there.again(seen.outcome)
        if seen.key:
            self.keys[seen.key] = Used(session, seen, reinforced, there)

"""Those that wait for something to change in a run, and how they are woken.

Whoever waits registers first and reads afterwards, so that nothing which happens in between is missed. Waking
costs nothing in the transaction that changed something: those in this process are woken after its commit,
those elsewhere by the bell; and for what a broken connection swallows, all that wait are looked up together
from time to time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

ID_BYTES = 16


@dataclass(eq=False, slots=True)
class Waiter:
    """One that waits."""

    profile: UUID
    workflow: bytes
    task: bytes | None
    """Whose result it waits for. ``None``: it waits for the run to end."""
    after: int | None = None
    """It also waits for any result after this position. ``None``: for none."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def within(self, seconds: float) -> bool:
        """Whether it is woken within so many seconds; then it can wait again."""
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            return False
        self.woken.clear()
        return True

    def cares(self, task: bytes | None) -> bool:
        """Whether it is to be woken for a task's result; without a task, the run has ended."""
        return task is None or task == self.task or self.after is not None


class Waiters:
    """All that wait in this process."""

    def __init__(self, ring: Callable[[bytes], None]) -> None:
        """Take what tells the other processes."""
        self._ring = ring
        self._waiting: dict[tuple[UUID, bytes], list[Waiter]] = {}
        self.wakings = 0
        """How many were woken so far."""

    @contextmanager
    def on(
        self, profile: UUID, workflow: bytes, task: bytes | None, after: int | None = None
    ) -> Generator[Waiter]:
        """Wait while the block runs: for a task's result, or for the run to end."""
        waiter = Waiter(profile, workflow, task, after)
        self._waiting.setdefault((profile, workflow), []).append(waiter)
        try:
            yield waiter
        finally:
            rest = self._waiting[profile, workflow]
            rest.remove(waiter)
            if not rest:
                del self._waiting[profile, workflow]

    def all(self) -> list[Waiter]:
        """Everyone."""
        return [waiter for waiters in self._waiting.values() for waiter in waiters]

    def changed(self, profile: UUID, workflow: bytes, task: bytes | None) -> None:
        """Tell everybody that a task has a result or, without a task, that a run has ended."""
        self._wake(profile, workflow, task)
        self._ring(profile.bytes + workflow + (task or b""))

    def heard(self, sign: bytes) -> None:
        """Wake those here whom a sign from elsewhere concerns."""
        if len(sign) not in (2 * ID_BYTES, 3 * ID_BYTES):
            return  # not one of ours
        workflow, task = sign[ID_BYTES : 2 * ID_BYTES], sign[2 * ID_BYTES :]
        self._wake(UUID(bytes=sign[:ID_BYTES]), workflow, task or None)

    def wake_all(self) -> None:
        """Let everybody look again."""
        for waiter in self.all():
            self.wake(waiter)

    def wake(self, waiter: Waiter) -> None:
        """Let one look again."""
        self.wakings += 1
        waiter.woken.set()

    def _wake(self, profile: UUID, workflow: bytes, task: bytes | None) -> None:
        for waiter in self._waiting.get((profile, workflow), ()):
            if waiter.cares(task):
                self.wake(waiter)

"""How much of runs and their results a profile may hold."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from libs import quota
from libs.quota import QuotaExceeded, allowed

NAMES = {"runs": "runs", "results": "results", "bytes": "results_bytes"}
"""Of the parts of a quota, as whoever sets one calls them."""


class RunsFull(QuotaExceeded):
    """The runs hold as much as they may. Wait until some expire, or ask for a larger quota."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one profile. What has expired does not count."""

    runs: int
    results: int
    """Results and turns of all runs."""
    bytes: int
    """Of results and turns, decoded, and of what is being uploaded."""

    @property
    def limits(self) -> tuple[int, int, int]:
        """As ``results.quota`` has them."""
        return astuple(self)

    def of(self, own: quota.Quota) -> Quota:
        """The limits of a profile: its own, and these where it has none."""
        return Quota(
            allowed(own.runs_max, self.runs),
            allowed(own.results_max, self.results),
            allowed(own.results_bytes_max, self.bytes),
        )

    def check(self, verdict: str) -> None:
        """Raise ``RunsFull`` if a verdict is the part without room: ``runs``, ``results`` or ``bytes``."""
        limit = {"runs": self.runs, "results": self.results, "bytes": self.bytes}.get(verdict)
        if limit is not None:
            raise RunsFull(
                f"The profile may hold {limit} {verdict} of its runs. "
                "Wait until some expire, or ask for a larger quota.",
                metadata={"quota": NAMES[verdict], "limit": str(limit)},
            )

"""How much of runs and their results a profile may hold."""

from __future__ import annotations

from dataclasses import dataclass

from libs import errors


class QuotaExceeded(errors.TooMuch):
    """The profile holds as much of runs and results as it may. Wait until some expire."""

    reason = "QUOTA_EXCEEDED"


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
        return self.runs, self.results, self.bytes

    def exceeded(self, part: str) -> QuotaExceeded:
        """The problem of one more, by the part of the quota that has no room for it."""
        limit = {"runs": self.runs, "results": self.results, "bytes": self.bytes}[part]
        return QuotaExceeded(
            f"The profile may hold {limit} {part} of its runs. Wait until some expire.",
            metadata={"limit": str(limit), "of": part},
        )

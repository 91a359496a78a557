"""How much a profile's clipboard may hold."""

from __future__ import annotations

from dataclasses import dataclass

from libs import errors


class QuotaExceeded(errors.TooMuch):
    """The clipboard holds as much as it may. Delete or pop something first."""

    reason = "QUOTA_EXCEEDED"


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one profile. What has expired or was popped does not count."""

    entries: int
    bytes: int
    """Of all values as they are written."""

    def exceeded(self, part: str) -> QuotaExceeded:
        """The problem of one more entry, by the part of the quota that has no room for it."""
        limit = {"entries": self.entries, "bytes": self.bytes}[part]
        return QuotaExceeded(
            f"The clipboard may hold {limit} {part}. Delete or pop something first.",
            metadata={"limit": str(limit), "of": part},
        )

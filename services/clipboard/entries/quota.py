"""How much a profile's clipboard may hold."""

from __future__ import annotations

from dataclasses import dataclass

from libs import quota
from libs.quota import QuotaExceeded, allowed


class ClipboardFull(QuotaExceeded):
    """The clipboard holds as much as it may. Delete or pop something, or ask for a larger quota."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a clipboard holds. What has expired or was popped does not count."""

    entries: int
    bytes: int
    """Of all values as they are written."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one profile, counted as ``Usage`` is."""

    entries: int
    bytes: int

    def of(self, own: quota.Quota) -> Quota:
        """The limits of a profile: its own, and these where it has none."""
        return Quota(
            allowed(own.clipboard_entries_max, self.entries), allowed(own.clipboard_bytes_max, self.bytes)
        )

    def check(self, verdict: str) -> None:
        """Raise ``ClipboardFull`` if a verdict is the part that has no room: ``entries`` or ``bytes``."""
        limit = {"entries": self.entries, "bytes": self.bytes}.get(verdict)
        if limit is not None:
            raise ClipboardFull(
                f"The clipboard may hold {limit} {verdict}. "
                "Delete or pop something, or ask for a larger quota.",
                metadata={"quota": f"clipboard_{verdict}", "limit": str(limit)},
            )

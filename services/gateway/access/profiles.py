"""Profiles: whose memories they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from libs import errors
from libs.language.names import clean_name

NAME_CHARS_MAX = 255
BETWEEN = "\0"
"""Stands in no name, so that no two paths of names are one text."""


class ProfileNotFound(errors.Missing):
    """There is no profile with this id."""

    reason = "PROFILE_NOT_FOUND"


class Names(NamedTuple):
    """What people call a profile, its workspace and its owner."""

    owner: str
    workspace: str
    profile: str

    @classmethod
    def clean(cls, owner: str, workspace: str, profile: str) -> Names:
        """Names as they are kept; ``Invalid`` names the field that is none."""
        return cls(
            clean_name("owner", owner, NAME_CHARS_MAX),
            clean_name("workspace", workspace, NAME_CHARS_MAX),
            clean_name("profile", profile, NAME_CHARS_MAX),
        )

    @property
    def paths(self) -> tuple[str, str, str]:
        """Each name behind those of its parents: two owners' equal names are found, and look, apart."""
        workspace = self.owner + BETWEEN + self.workspace
        return self.owner, workspace, workspace + BETWEEN + self.profile


@dataclass(frozen=True, slots=True)
class Profile:
    """One person or agent, in one workspace of one owner."""

    id: UUID
    owner_id: UUID
    workspace_id: UUID
    names: Names
    created_at: datetime

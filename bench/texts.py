"""Sentences without end, each of its own, about things that software teams remember."""

from __future__ import annotations

import random

WHO = (
    "the deploy job",
    "our API gateway",
    "Mara",
    "the billing worker",
    "the staging cluster",
    "Tomas",
    "the nightly backup",
)
DID = (
    "failed on",
    "was fixed by",
    "now depends on",
    "prefers",
    "times out without",
    "was slow because of",
    "needs",
)
WHAT = (
    "a stale lock file",
    "the memory limit",
    "two retries",
    "an expired certificate",
    "the new index",
    "short answers",
    "a missing migration",
    "the feature flag",
    "read replicas",
    "a full disk",
    "the wrong region",
    "pinned versions",
)
WHERE = ("in Frankfurt", "on Fridays", "after the upgrade", "under load", "in the demo", "before the release")


def sentence(number: int) -> str:
    """The sentence of a number; another number, another sentence."""
    chance = random.Random(number)  # noqa: S311 -- for variety, not for secrets
    said = " ".join(chance.choice(part) for part in (WHO, DID, WHAT, WHERE))
    return f"{said}, ticket {number}"


ABOUT = (
    "what broke the release",
    "why is it slow",
    "who likes brief replies",
    "which certificate ran out",
    "how do we limit memory",
    "what happens when the disk is full",
    "problems with backups",
    "trouble in Frankfurt",
    "what does billing rely on",
    "why did the deploy fail on Friday",
)


def question(number: int) -> str:
    """The question of a number."""
    chance = random.Random(number)  # noqa: S311 -- for variety
    return f"{chance.choice(ABOUT)} {chance.choice(WHERE)}"

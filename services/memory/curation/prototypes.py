"""Examples of what belongs into each ring. What is like them in meaning is likely of their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from services.memory.memories.rings import Ring

NEAREST = 2
"""Likeness is the mean of so many of the nearest examples: one alone may be near by chance."""

PROTOTYPES: Mapping[Ring, Sequence[str]] = {
    Ring.SHOCK: (
        "The production database was deleted and all customer data is lost.",
        "A total outage of the service for all customers that lasted hours.",
        "Credentials leaked publicly and an attacker used them.",
        "There was no working backup, so nothing could be restored.",
        "Customers were charged twice and the money could not be recovered.",
        "A dangerous command was run on production instead of staging and destroyed everything.",
        "Private data of users was exposed to the public.",
        "A person was injured because of the error.",
        "The data was corrupted beyond repair.",
    ),
    Ring.PROCEDURE: (
        "How to deploy: run the tests, build the image, push it, then apply the manifests.",
        "Steps: first stop the service, then restore the backup, and finally start it again.",
        "To set up a new machine, install the packages, create the user and enable the service.",
        "Checklist for a release: bump the version, update the changelog, tag, publish.",
        "For each new supplier collect the form, check the details, enter them, and ask for approval.",
        "Recipe: heat the water, add the grain, wait an hour, boil, cool.",
        "Runbook for an incident: find the cause, roll back, tell the team, write it down.",
    ),
    Ring.PRACTICE: (
        "Always run the tests before pushing.",
        "Never change configuration by hand on the server.",
        "We make it a habit to review every change with a second person.",
        "Whenever the schema changes, regenerate the client.",
        "Keep commits small and explain the reason.",
        "It works best to ask for details before guessing.",
        "Don't deploy on Fridays.",
        "Check the current price list before answering customers.",
    ),
    Ring.LONG_TERM: (
        "The service stores amounts in cents as integers.",
        "The vendor's API returns timestamps in UTC.",
        "Latency is dominated by the network, not by the database.",
        "PostgreSQL was chosen because the reports need window functions.",
        "The user prefers short answers.",
        "This error means that the proxy closes idle connections.",
        "The importer only accepts files in UTF-8.",
    ),
    Ring.FRESH: (
        "All tests passed in ten seconds.",
        "Two tests failed with an assertion error.",
        "Running the linter now.",
        "Turning to another task.",
        "HTTP 200 OK",
        "ls -la src/",
        "The build failed with a timeout, trying again.",
        "The user said hello.",
        "The meeting was moved to Thursday.",
        "TypeError: undefined is not a function",
    ),
}


class Likeness:
    """How near a vector is to each ring's examples, in one model."""

    def __init__(self, vectors: Sequence[NDArray[np.float32]]) -> None:
        """Take a vector for each text of ``texts()``."""
        remaining = iter(vectors)
        self._examples = {
            ring: np.stack([next(remaining) for _ in texts]) for ring, texts in PROTOTYPES.items()
        }

    def to_rings(self, vector: NDArray[np.float32]) -> dict[Ring, float]:
        """The mean cosine to the nearest examples of each ring."""
        return {
            ring: float(np.sort(examples @ vector)[-NEAREST:].mean())
            for ring, examples in self._examples.items()
        }


def texts() -> list[str]:
    """All examples, ring by ring."""
    return [text for examples in PROTOTYPES.values() for text in examples]

"""The OpenAPI document is kept to the letter: schemathesis finds nothing."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.rig.house import House

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 15
"""Per operation and phase; more find more, slowly."""


@pytest.mark.timeout(300)
async def test_schemathesis_finds_nothing(house_site: House, tmp_path: Path) -> None:
    """Valid requests are taken, others refused, and every answer is one that was promised: all checks."""
    command = Path(sys.executable).with_name("schemathesis")
    running = await asyncio.create_subprocess_exec(
        *(command, "--config-file", CONFIG, "run", f"{house_site.http}/openapi.json", "--checks", "all"),
        *("--header", f"Authorization: Bearer {house_site.key}", "--max-examples", str(EXAMPLES)),
        *("--continue-on-failure", "--seed", "1", "--generation-database", "none", "--no-color"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await running.communicate()

    assert running.returncode == 0, said.decode()

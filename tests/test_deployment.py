"""What can be promised of the files for containers without an engine to run them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: Mapping[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
CONTAINERS: Mapping[str, Mapping[str, Any]] = COMPOSE["services"]
DOORS = {"house", "gateway"}


@pytest.mark.parametrize("name", CONTAINERS)
def test_container_is_confined(name: str) -> None:
    """No container can write its own files, gain a right, or be reached from outside unless it is a door."""
    container = CONTAINERS[name]

    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert ("ports" in container) == (name in DOORS)
    assert all(port.startswith("127.0.0.1:") for port in container.get("ports", ()))
    assert container["networks"] == (["inside", "door"] if name in DOORS else ["inside"])


def test_no_secret_stands_in_the_environment() -> None:
    """Passwords and keys come as files."""
    names = [name for container in CONTAINERS.values() for name in container.get("environment", ())]

    assert not [name for name in names if re.search(r"KEY|PASSWORD|URL", name) and not name.endswith("_FILE")]


@pytest.mark.parametrize("name", ["docker-compose.yml", "deploy/Dockerfile"])
def test_settings_exist(name: str) -> None:
    """A container sets only what the house reads; an unknown name would keep it from starting."""
    known = (ROOT / "deploy" / "env.example").read_text()

    for setting in set(re.findall(r"TREERING_[A-Z_]+", (ROOT / name).read_text())):
        assert re.search(rf"\b{setting}=", known), setting


def test_image_runs_as_nobody_else() -> None:
    """The image has a user of its own, and installs nothing whose hash is not pinned."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()

    assert "USER 10001:10001" in dockerfile
    for install in re.findall(r"pip install .*", dockerfile):
        assert "--require-hashes" in install or "--no-index" in install, install

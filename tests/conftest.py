"""Fixtures only; what they are made of is in ``tests.rig``."""

from __future__ import annotations

from tests.rig.house import house, house_site, neighbor
from tests.rig.postgres import cluster, empty_database, room, room_dsn
from tests.rig.process import closed_house, open_house, premises

__all__ = [
    "closed_house",
    "cluster",
    "empty_database",
    "house",
    "house_site",
    "neighbor",
    "open_house",
    "premises",
    "room",
    "room_dsn",
]

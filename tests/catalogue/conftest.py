"""Where the catalogue is tried."""

from __future__ import annotations

import pytest

from tests.catalogue.place import Place, settled
from tests.rig.house import House


@pytest.fixture(scope="module")
async def place(house_site: House) -> Place:
    """One for each file, so that what one file writes another does not see."""
    return await settled(house_site)

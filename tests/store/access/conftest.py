"""A database for access alone."""

from collections.abc import AsyncGenerator

import pytest

from libs.data import installation, migrations
from services.gateway.access.store import SCHEMA, Store, opened
from tests.rig.postgres import MASTER, Cluster


async def make_access(dsn: str) -> None:
    """Set a database up for access."""
    await installation.prepare(dsn, MASTER)
    await migrations.apply(
        dsn, SCHEMA.schema, SCHEMA.package, role=SCHEMA.role, password=MASTER.password(SCHEMA.role)
    )


@pytest.fixture
async def dsn(cluster: Cluster) -> AsyncGenerator[str]:
    """The superuser's DSN of a database in which access keeps nothing yet."""
    async with cluster.fresh("access", make_access) as fresh:
        yield fresh


@pytest.fixture
async def store(dsn: str) -> AsyncGenerator[Store]:
    """That database, as access uses it."""
    async with opened(dsn, MASTER) as made:
        yield made

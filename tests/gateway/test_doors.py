"""The doors that need no key."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from services.gateway.catalog import load
from tests.rig.house import House


@pytest.fixture
async def stranger(house_site: House) -> Any:
    """Somebody without a key."""
    async with httpx2.AsyncClient(base_url=house_site.http) as client:
        yield client


async def test_the_house_says_that_it_is_alive(stranger: httpx2.AsyncClient) -> None:
    """Whatever else may be away."""
    assert (await stranger.get("/healthz")).status_code == 200


async def test_the_house_says_what_it_needs(stranger: httpx2.AsyncClient) -> None:
    """Each service by its name."""
    response = await stranger.get("/readyz")

    assert (response.status_code, response.json()["ready"]) == (200, True)
    assert "treering.memory.v1.MemoryService" in response.json()["dependencies"]


async def test_metrics_are_prometheus_text(stranger: httpx2.AsyncClient) -> None:
    """Counters by method and code, and nothing about anybody."""
    response = await stranger.get("/metrics")

    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "treering_rpc_calls" in response.text


async def test_the_contract_is_served(stranger: httpx2.AsyncClient) -> None:
    """As OpenAPI, with every route."""
    document = (await stranger.get("/openapi.json")).json()

    assert document["openapi"] == "3.1.0"
    assert {binding.template.text for method in load().methods for binding in method.bindings} == document[
        "paths"
    ].keys()


async def test_the_docs_show_every_operation(stranger: httpx2.AsyncClient) -> None:
    """On one page that loads nothing from elsewhere and runs nothing."""
    response = await stranger.get("/docs")

    for method in load().methods:
        for binding in method.bindings:
            assert binding.template.text in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "<script" not in response.text
    assert "http://" not in response.text
    assert "https://" not in response.text


async def test_home_is_the_docs(stranger: httpx2.AsyncClient) -> None:
    """Whoever comes without a path finds the way."""
    response = await stranger.get("/")

    assert (response.status_code, response.headers["location"]) == (302, "/docs")

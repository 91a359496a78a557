"""All doors of one HTTP port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from libs.rpc.telemetry import Telemetry
from services.gateway import docs, openapi
from services.gateway import mcp as tools_door
from services.gateway.bodies import JSON
from services.gateway.calls import Authenticate, Calls, visit
from services.gateway.catalog import Catalog
from services.gateway.door import Door
from services.gateway.mcp import Mcp
from services.gateway.places import Places
from services.gateway.problems import refusal
from services.gateway.rest import Rest

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Readiness = Callable[[], Awaitable[Mapping[str, bool]]]
"""Tells of each thing that is needed whether it is well."""


def application(
    catalog: Catalog,
    calls: Calls,
    authenticate: Authenticate,
    readiness: Readiness,
    telemetry: Telemetry,
    places: Places,
    version: str,
) -> Starlette:
    """Everything that is served over HTTP. ``ValueError`` if the protos ask for what is not supported."""
    mcp = Mcp(catalog, calls, authenticate, places, version)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with mcp.running():
            yield

    contract = openapi.document(catalog, version)
    served = Starlette(
        routes=[*_open_routes(contract, readiness, telemetry), Route(tools_door.PATH, mcp)],
        middleware=[Middleware(Door, telemetry=telemetry)],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )
    served.router.redirect_slashes = False
    served.router.default = Rest(catalog, calls, authenticate)  # every other path
    return served


def _open_routes(contract: openapi.Schema, readiness: Readiness, telemetry: Telemetry) -> list[Route]:
    """What needs no key: it says nothing about anybody."""
    shown, page = orjson.dumps(contract), docs.page(contract)

    async def ready(_: Request) -> Response:
        well = dict(await readiness())
        all_well = all(well.values())
        content = orjson.dumps({"ready": all_well, "dependencies": well})
        return Response(content, 200 if all_well else 503, media_type=JSON)

    async def alive(_: Request) -> Response:
        return Response(b'{"alive":true}', media_type=JSON)

    async def metrics(_: Request) -> Response:
        return Response(telemetry.exposition(), media_type=METRICS_TYPE)

    async def specification(_: Request) -> Response:
        return Response(shown, media_type=JSON)

    async def documentation(_: Request) -> Response:
        return Response(page.html, media_type="text/html", headers={"Content-Security-Policy": page.policy})

    async def home(_: Request) -> Response:
        return RedirectResponse("/docs", 302)

    doors = {
        "/": home,
        "/docs": documentation,
        "/healthz": alive,
        "/metrics": metrics,
        "/openapi.json": specification,
        "/readyz": ready,
    }
    return [Route(path, _known(path, answer)) for path, answer in doors.items()]


def _known(
    path: str, answer: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """The same, seen in the log by its path."""

    async def seen(request: Request) -> Response:
        visit(request.scope).route = path
        return await answer(request)

    return seen


async def _refused(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses, as a problem like any other."""
    return refusal(error).response(visit(request.scope).request_id)

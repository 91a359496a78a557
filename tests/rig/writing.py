"""A language model's provider on a port of its own: it speaks both wire formats, well and badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from libs.rpc import web
from tests.rig.house import free_port

Write = Callable[[str, str], str]
"""From the system's words and the material to an answer."""


def silent(system: str, material: str) -> str:
    """Says nothing."""
    return ""


@dataclass
class Provider:
    """What it is asked, what it answers, and what is wrong with it."""

    port: int
    write: Write = silent
    faults: list[Response] = field(default_factory=list[Response])
    """What the next questions are answered with, in order, before it works again."""
    broken: Response | None = None
    """What every question is answered with."""
    hangs: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends all hanging."""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def settings(self) -> dict[str, str]:
        """What a house is told to use it."""
        return {
            "TREERING_LLM_PROVIDER": "openai",
            "TREERING_LLM_URL": f"http://127.0.0.1:{self.port}/v1",
            "TREERING_LLM_MODEL": "writer",
            "TREERING_LLM_API_KEY": "made-up",
            "TREERING_LLM_TIMEOUT_SECONDS": "5",
        }

    async def openai(self, request: Request) -> Response:
        """Chat completions."""
        body = await self._received(request)
        system, user = (message["content"] for message in body["messages"])
        return await self._answer(
            system, user, lambda text: {"choices": [{"message": {"role": "assistant", "content": text}}]}
        )

    async def gemini(self, request: Request) -> Response:
        """``generateContent``."""
        body = await self._received(request)
        system = body["systemInstruction"]["parts"][0]["text"]
        user = body["contents"][0]["parts"][0]["text"]
        return await self._answer(
            system, user, lambda text: {"candidates": [{"content": {"parts": [{"text": text}]}}]}
        )

    async def _received(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = await request.json()
        self.asked.append(body)
        self.headers.append(dict(request.headers))
        return body

    async def _answer(self, system: str, user: str, wrap: Callable[[str], object]) -> Response:
        if self.hangs:
            await self.over.wait()
        if self.faults:
            return self.faults.pop(0)
        return self.broken or JSONResponse(wrap(self.write(system, json.loads(user))))


@asynccontextmanager
async def provider() -> AsyncGenerator[Provider]:
    """A provider that listens."""
    ours = Provider(free_port())
    served = Starlette(
        routes=[
            Route("/v1/chat/completions", ours.openai, methods=["POST"]),
            Route("/v1beta/models/{model}:generateContent", ours.gemini, methods=["POST"]),
        ]
    )
    async with web.serve(served, "127.0.0.1", ours.port):
        try:
            yield ours
        finally:
            ours.over.set()

"""Which language model this house uses, if any."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

from libs.clock import Clock
from libs.language.chat import GEMINI_URL, OPENAI_URL, GeminiChat, OpenAIChat
from libs.language.endpoints import http_client
from libs.language.model import Language, LanguageModel
from libs.language.tokens import TokenCounter
from libs.refusal import Refused

TOKENS_MAX = 8_000
SECONDS_MAX = 50.0
"""Less than what waits for an answer: a loop's turn, a caller's patience."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which language model helps, if any. Without one, everything works locally."""

    PREFIX: ClassVar[str] = "TREERING_LLM_"

    provider: str = "none"
    """none, openai (any OpenAI-compatible endpoint) or gemini."""
    url: str = ""
    """Where its API is, without /chat/completions or /models. Empty: the provider's own."""
    model: str = ""
    """The model to ask for. Empty: gpt-4o-mini or gemini-2.5-flash-lite."""
    api_key: str = ""
    """Key for the provider; may be empty for a server of your own."""
    timeout_seconds: float = 10
    """How long one question may take, with its second attempt; at most 50. Then it is answered locally."""
    tokens: int = 600
    """Tokens of one answer at most, up to 8000."""


@asynccontextmanager
async def language_from(
    settings: Settings, counter: TokenCounter, clock: Clock
) -> AsyncGenerator[Language | None]:
    """Build the language model that the settings name; its connections end with the block.

    Raises ``Refused`` for settings that mean nothing.
    """
    if settings.provider == "none":
        yield None
        return
    kinds = {
        "openai": (OpenAIChat, OPENAI_URL, "gpt-4o-mini"),
        "gemini": (GeminiChat, GEMINI_URL, "gemini-2.5-flash-lite"),
    }
    if settings.provider not in kinds:
        raise Refused(f"TREERING_LLM_PROVIDER knows none, openai and gemini, not {settings.provider!r}.")
    if not 0 < settings.timeout_seconds <= SECONDS_MAX:
        raise Refused(f"TREERING_LLM_TIMEOUT_SECONDS must be above 0 and at most {SECONDS_MAX:g}.")
    if not 1 <= settings.tokens <= TOKENS_MAX:
        raise Refused(f"TREERING_LLM_TOKENS must be from 1 to {TOKENS_MAX}.")
    kind, url, model = kinds[settings.provider]
    async with http_client(settings.timeout_seconds) as client:
        chat = kind(
            client,
            url=settings.url or url,
            api_key=settings.api_key,
            model=settings.model or model,
            seconds=settings.timeout_seconds,
        )
        yield LanguageModel(chat, counter, clock, seconds=settings.timeout_seconds, tokens=settings.tokens)

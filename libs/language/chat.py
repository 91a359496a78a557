"""Language models that are somebody's service: any OpenAI-compatible endpoint, and Gemini."""

from __future__ import annotations

from typing import Any, cast

import httpx2

from libs.language.endpoints import Endpoint
from libs.language.model import LanguageAway

ANSWER_BYTES_MAX = 1024 * 1024
OPENAI_URL = "https://api.openai.com/v1"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"


class OpenAIChat:
    """Writes by ``POST {url}/chat/completions``, as OpenAI and those compatible with it do."""

    def __init__(
        self, client: httpx2.AsyncClient, *, url: str, api_key: str, model: str, seconds: float
    ) -> None:
        self.model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        address = f"{url.rstrip('/')}/chat/completions"
        self._endpoint = Endpoint(client, address, headers, model, LanguageAway, seconds, ANSWER_BYTES_MAX)
        self._is_openai = url.startswith(OPENAI_URL)

    async def write(self, system: str, user: str, tokens: int) -> str:
        """What the model answers, in about so many tokens. Raises ``LanguageAway``."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        # OpenAI's newer models take neither `max_tokens` nor a temperature; most others know only these.
        usual = {"max_tokens": tokens, "temperature": 0}
        limits = {"max_completion_tokens": tokens} if self._is_openai else usual
        answer: Any = await self._endpoint.post({"model": self.model, "messages": messages, **limits})
        try:
            text = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise self._endpoint.unexpected() from None
        if not isinstance(text, str):
            raise self._endpoint.unexpected()
        return text


class GeminiChat:
    """Writes by Gemini's ``generateContent``."""

    def __init__(
        self, client: httpx2.AsyncClient, *, url: str, api_key: str, model: str, seconds: float
    ) -> None:
        self.model = model
        address = f"{url.rstrip('/')}/models/{model}:generateContent"
        headers = {"x-goog-api-key": api_key}
        self._endpoint = Endpoint(client, address, headers, model, LanguageAway, seconds, ANSWER_BYTES_MAX)

    async def write(self, system: str, user: str, tokens: int) -> str:
        """What the model answers, in about so many tokens. Raises ``LanguageAway``."""
        answer: Any = await self._endpoint.post(
            {
                "systemInstruction": {"parts": [{"text": system}]},
                "contents": [{"role": "user", "parts": [{"text": user}]}],
                "generationConfig": {"temperature": 0, "maxOutputTokens": tokens},
            }
        )
        try:
            parts = cast("list[Any]", answer["candidates"][0]["content"]["parts"])
            return "".join(cast(str, part["text"]) for part in parts)
        except (KeyError, IndexError, TypeError):
            raise self._endpoint.unexpected() from None

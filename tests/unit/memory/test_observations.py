"""What comes in is checked, and leaves without secrets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from libs.errors import Invalid, TooLarge
from services.memory.memories.observations import CONTENT_CHARS_MAX, Raw, clean
from services.memory.memories.rings import Outcome, Type

RAW = Raw(content="The build needs make.", type=Type.INSIGHT)
SECRET = "ghp_" + "aB3dE6gH9jK2" * 3


def test_content_is_kept_as_it_came() -> None:
    """Nothing is trimmed, normalised or re-wrapped, up to the limit."""
    for content in ("  two spaces \n", "e\u0301", "\u202eabc", "👩‍👩‍👧‍👦", "x" * CONTENT_CHARS_MAX):
        assert clean(replace(RAW, content=content)).content == content


@pytest.mark.parametrize("content", ["", "  \n\t", "a\0b", "\ud800"], ids=repr)
def test_what_cannot_be_kept_is_refused(content: str) -> None:
    """Nothing at all, NUL and half characters."""
    with pytest.raises(Invalid) as caught:
        clean(replace(RAW, content=content), "observations[1].")

    assert [violation.field for violation in caught.value.violations] == ["observations[1].content"]


def test_one_character_over_is_too_large() -> None:
    """The limit is in characters."""
    with pytest.raises(TooLarge):
        clean(replace(RAW, content="x" * (CONTENT_CHARS_MAX + 1)))


def test_secrets_leave_everywhere() -> None:
    """Content, actor, tags, aliases and metadata; each one counts."""
    cleaned = clean(
        replace(
            RAW,
            content=f"token {SECRET} works",
            actor=SECRET,
            tags=[SECRET, "ci"],
            aliases=[f"key {SECRET}"],
            metadata={"a": SECRET},
        )
    )

    assert SECRET not in repr(cleaned)
    assert cleaned.secrets_removed == 5
    assert "ci" in cleaned.labels.tags
    assert cleaned.content.startswith("token [secret:")


def test_tags_are_each_kept_once_however_spelled() -> None:
    """Case and composition make no other tag; the first spelling stays."""
    cleaned = clean(replace(RAW, tags=["Café", "CAFE\u0301", "other"]))

    assert cleaned.labels.tags == ("Café", "other")


@pytest.mark.parametrize("name", ["a\u200bb", "\x1b[31m", "\u202eabc", "x" * 256, " "], ids=repr)
@pytest.mark.parametrize("field", ["actor", "tags", "aliases", "idempotency_key"])
def test_names_hide_nothing(field: str, name: str) -> None:
    """What cannot be seen, and what is too long, is refused with the field's name."""
    value: object = [name] if field in ("tags", "aliases") else name
    with pytest.raises(Invalid) as caught:
        clean(replace(RAW, **{field: value}))  # type: ignore[arg-type]

    assert caught.value.violations[0].field.startswith(field)


def test_signature_tells_requests_apart() -> None:
    """Every field but the key is part of what a request says."""
    others = [
        replace(RAW, content="Another."),
        replace(RAW, type=Type.DECISION),
        replace(RAW, outcome=Outcome.SUCCESS),
        replace(RAW, actor="Mia"),
        replace(RAW, occurred_at=datetime(2031, 1, 1, tzinfo=UTC)),
        replace(RAW, tags=["a"]),
        replace(RAW, aliases=["a"]),
        replace(RAW, metadata={"a": 1}),
    ]
    signatures = {clean(raw).signature for raw in (RAW, *others)}

    assert len(signatures) == 1 + len(others)
    assert clean(replace(RAW, idempotency_key="k")).signature == clean(RAW).signature


def test_who_said_it_is_found_with_what_was_said() -> None:
    """The actor's name is indexed before the text; the text itself stays."""
    cleaned = clean(replace(RAW, actor="Mia"))

    assert cleaned.indexed == "Mia: The build needs make."
    assert cleaned.content == RAW.content

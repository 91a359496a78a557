"""Characters that nobody sees, and whether they hide something where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

HIDING = re.compile(
    "[\u180b-\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Zero width, overrides of direction, invisible operators, tags, further variation selectors."""
_JOINED = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]")
"""Scripts in which a joiner changes how letters meet: Arabic, Indic, Mongolian and their kin."""
_EMOJI = re.compile("[\u00a9\u00ae\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff\ufe0e\ufe0f]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f")
"""The flag of a part of a country: a black flag, and its code in tags."""


def hidden(text: str) -> Iterator[int]:
    """Where a character stands that hides something; joiners and flags that a script needs do not."""
    if text.isascii() or not HIDING.search(text):
        return
    flags = [at for flag in _FLAG.finditer(text) for at in range(flag.start() + 1, flag.end())]
    needed = frozenset(flags)
    for found in HIDING.finditer(text):
        at = found.start()
        if at not in needed and not _is_needed(text[at], text[at - 1 : at], text[at + 1 : at + 2], at):
            yield at


def _is_needed(char: str, before: str, after: str, at: int) -> bool:
    if char == "\ufeff":
        return at == 0
    if char in "\u200c\u200d":
        emoji = char == "\u200d" and _EMOJI.match(before) and _EMOJI.match(after)
        return bool(emoji or _JOINED.match(before))
    if "\u180b" <= char <= "\u180e":
        return "\u1800" <= before <= "\u18af"
    if "\U000e0100" <= char <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    return False

"""Which characters names and texts may have, as patterns that JSON Schema understands.

`libs.language.names` decides. These say the same, but for characters that are fine between certain others
only, such as joiners: here they are not.
"""

from __future__ import annotations

from typing import Final

HIDDEN: Final = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160"
    r"\u17b4-\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\u2800\u3164\ufdd0-\ufdef"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe-\uffff"
    # Beyond the first plane the dialects of patterns share no escape: these stand as themselves.
    "\U000110bd\U000110cd\U00013430-\U00013438\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
"""What cannot be seen, as the inside of a class."""
BLANK: Final = r"\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Spaces."""
STRIPPED: Final = rf"\u0009-\u000d\u001c-\u001f\u0085\u2028\u2029{BLANK}"
"""What is taken away around a name."""

ANY: Final = r"^[^\u0000]*$"
"""Nothing is refused but what cannot be kept."""
TEXT: Final = rf"^[^\u0000]*[^{BLANK}{HIDDEN}][^\u0000]*$"
"""Something can be seen."""
NAME: Final = rf"^[{STRIPPED}]*[^{BLANK}{HIDDEN}]([^{HIDDEN}]*[^{BLANK}{HIDDEN}])?[{STRIPPED}]*$"
"""Everything can be seen, but for white space around it."""


def or_empty(pattern: str) -> str:
    """The same, or nothing at all."""
    return f"^$|{pattern}"

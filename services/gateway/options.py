"""What the protos say beside their types, by extensions of our own and of others."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor


def said(options: Any, extension: FieldDescriptor) -> Any:
    """An extension's value on some options. ``None`` where it is not given.

    Generated types call an extension a bare descriptor: nothing better can be said of its type here.
    """
    return options.Extensions[extension] if options.HasExtension(extension) else None

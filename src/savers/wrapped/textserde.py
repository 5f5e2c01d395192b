"""The inner serializer of savers that keep values as base64 text in JSON items; what the text holds is `innerserde`'s.

langchain-azure-cosmosdb 1.0.1 puts a serializer of its own around the saver's, and calls that one only. Ours stands in its place.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ...errors import NotSealedError
from .innerserde import NarrowSerde


class TextSerde(NarrowSerde):
    """As `NarrowSerde`, with base64 text for bytes."""

    def dumps_typed(self, obj: Any) -> tuple[str, Any]:
        """The tag, and the bytes as text."""
        tag, raw = super().dumps_typed(obj)
        return tag, base64.b64encode(raw).decode("ascii")

    def loads_typed(self, data: tuple[str, Any]) -> Any:
        """What `dumps_typed` was given.

        Raises:
            NotSealedError: the stored value is of another kind; nothing of it was built.
        """
        try:
            tag, text = data
            raw = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise NotSealedError("a stored value is no tag with base64 text, as a sealed saver writes; nothing of it was read") from None
        return super().loads_typed((str(tag), raw))

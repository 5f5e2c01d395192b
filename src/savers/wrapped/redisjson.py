"""The inner serializer of LangGraph's Redis savers, which keep JSON and revive objects outside their serializer; here nothing is revived.

Those savers look for ``{"lc": …}``, ``{"__send__": …}`` and their kind in what they read, and import what it names, before anything could
be authenticated. So the copy of the saver that we work on gets a class in which only two of their markers are undone, around sealed bytes:
``{"__bytes__": base64}`` and ``{"__delta_snapshot__": true, "value": …}``.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...errors import NotSealedError
from .innerserde import NarrowSerde

_BYTES: Final = "__bytes__"
_DELTA: Final = "__delta_snapshot__"


class RedisSerde(NarrowSerde):
    """As `NarrowSerde`, with containers as JSON."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and bytes of sealed bytes, or JSON of the containers around them."""
        if obj is None or type(obj) is bytes:
            return super().dumps_typed(obj)
        return "json", json.dumps(_marked(obj), separators=(",", ":")).encode("ascii")

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """What `dumps_typed` was given.

        Raises:
            NotSealedError: the stored value is of another kind; nothing of it was built.
        """
        tag, raw = data
        if tag == "json":
            try:
                return json.loads(raw)  # its markers stay: `unmarked` undoes those that may be, where they may be
            except ValueError:
                raise NotSealedError("a stored value is tagged json and is none; nothing of it was read") from None
        if tag == "msgpack":
            raise NotSealedError("a stored value is tagged msgpack, which a sealed Redis saver never writes; nothing of it was read")
        return super().loads_typed(data)


def narrow_redis(clone: Any) -> None:
    """Makes the copy of a Redis saver revive nothing."""
    original = type(clone)

    def load_checkpoint(self: Any, checkpoint: Any, channel_values: Any, pending_sends: Any) -> Any:
        return original._load_checkpoint(self, checkpoint, unmarked_values(channel_values), pending_sends)

    clone.__class__ = type(
        f"Narrow{original.__name__}",
        (original,),
        {
            "__module__": __name__,
            "_load_checkpoint": load_checkpoint,
            "_deserialize_channel_values": lambda _, values: unmarked_values(values),
            "_recursive_deserialize": lambda _, values: unmarked_values(values),
        },
    )


def unmarked_values(values: Any) -> Any:
    """Channel values with their bytes in place of the markers around them; anything else is left for the check that follows to refuse."""
    return {channel: _unmarked(value) for channel, value in values.items()} if isinstance(values, Mapping) else values


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {_BYTES}:
        try:
            return base64.b64decode(value[_BYTES], validate=True)
        except (TypeError, ValueError, binascii.Error):
            return value
    if isinstance(value, Mapping) and value.keys() == {_DELTA, "value"}:
        return _DeltaSnapshot(_unmarked(value["value"]))
    return value


def _marked(obj: Any) -> Any:
    if type(obj) is bytes:
        return {_BYTES: base64.b64encode(obj).decode("ascii")}
    if type(obj) is _DeltaSnapshot:
        return {_DELTA: True, "value": _marked(obj.value)}
    if isinstance(obj, dict):
        return {key: _marked(value) for key, value in obj.items()}
    return [_marked(item) for item in obj] if isinstance(obj, (list, tuple)) else obj

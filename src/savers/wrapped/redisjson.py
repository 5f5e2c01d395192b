"""The inner serializer of LangGraph's Redis savers, which keep JSON and revive objects outside their serializer; here nothing is revived.

Those savers look for ``{"lc": …}``, ``{"__send__": …}`` and their kind in what they read, and import what it names, before anything could
be authenticated. So the copy of the saver that we work on gets a class in which only two of their markers are undone, around sealed bytes:
``{"__bytes__": base64}`` and ``{"__delta_snapshot__": true, "value": …}``.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...errors import NotSealedError
from .innerserde import NarrowSerde

_BYTES: Final = "__bytes__"
_DELTA: Final = "__delta_snapshot__"


class RedisSerde(NarrowSerde):
    """As `NarrowSerde`, with containers as JSON."""

    old_hint = ""  # these savers are not read in migration mode

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


def narrow_shallow_redis(clone: Any) -> None:
    """As `narrow_redis`; and pending writes and listings are what the checkpoint has.

    The shallow savers (0.5.2) return with a checkpoint the pending writes that every earlier one of its namespace left, list the root
    namespace under the name that it has in keys, and in the async listing give the ids alone, with no checkpoint.
    """
    narrow_redis(clone)
    narrowed = type(clone)
    if hasattr(narrowed, "_aload_pending_writes"):
        narrowed._aload_pending_writes, narrowed.alist = _aload_own_writes, _alist_whole
    else:
        narrowed._load_pending_writes, narrowed.list = _load_own_writes, _list_named


def _list_named(self: Any, config: Any, **call: Any) -> Iterator[Any]:
    for row in super(type(self), self).list(config, **call):
        yield row._replace(config=_named(row.config))


async def _alist_whole(self: Any, config: Any, **call: Any) -> AsyncIterator[Any]:
    async for row in super(type(self), self).alist(config, **call):
        if (whole := await self.aget_tuple(_named(row.config))) is not None:
            yield whole


def _named(config: Any) -> Any:
    from langgraph.checkpoint.redis.util import from_storage_safe_str

    ids = config["configurable"]
    return {"configurable": {**ids, "checkpoint_ns": from_storage_safe_str(ids["checkpoint_ns"])}}


def _load_own_writes(self: Any, thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> Any:
    pipeline = self._redis.pipeline(transaction=False)
    for key in self._redis.zrange(_registry("write_registry", thread_id, checkpoint_ns), 0, -1):
        pipeline.json().get(_text(key))
    return self._load_writes(self.serde, _own(pipeline.execute(), checkpoint_id))


async def _aload_own_writes(self: Any, thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> Any:
    pipeline = self._redis.pipeline(transaction=False)
    for key in await self._redis.zrange(_registry("write_keys_zset", thread_id, checkpoint_ns), 0, -1):
        pipeline.json().get(_text(key))
    return self._load_writes(self.serde, _own(await pipeline.execute(), checkpoint_id))


def _registry(kind: str, thread_id: str, checkpoint_ns: str) -> str:
    from langgraph.checkpoint.redis.util import to_storage_safe_str

    return f"{kind}:{thread_id}:{to_storage_safe_str(checkpoint_ns)}:shallow"


def _text(key: str | bytes) -> str:
    return key.decode() if isinstance(key, bytes) else key


def _own(documents: list[Any], checkpoint_id: str) -> dict[tuple[Any, Any], Any]:
    return {
        (document.get("task_id"), document.get("idx")): document
        for document in documents
        if isinstance(document, dict) and document.get("checkpoint_id") == checkpoint_id
    }


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

"""How much of a store is sealed, by the form of what lies there: no value is built, and whether what looks sealed opens, a read decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...ciphers.header import looks_sealed
from ...errors import SealpointError
from ...serde import LayeredSerializer
from .core import Core
from .drive import Ask, Flow
from .innerserde import is_cell
from .places import THREAD


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a store is sealed.

    Args:
        checkpoints: how many there are.
        unsealed_checkpoints: of those, how many are not sealed.
        values: how many channel values the checkpoints refer to; one that several share counts for each. An old checkpoint whose values
            lie in its own row, in a form that is not read here, counts as one.
        unsealed_values: of those, how many are not sealed.
        writes: how many pending writes there are.
        unsealed_writes: of those, how many are not sealed.
    """

    checkpoints: int
    unsealed_checkpoints: int
    values: int
    unsealed_values: int
    writes: int
    unsealed_writes: int

    @property
    def complete(self) -> bool:
        """Whether nothing unsealed is left, so that migration mode may be dropped."""
        return not (self.unsealed_checkpoints or self.unsealed_values or self.unsealed_writes)


class Survey:
    """Reads old cells for a count: their plain shape, and which of the types in them would be refused.

    Args:
        serde: knows what is allowed, and opens what was sealed without a place.
    """

    def __init__(self, serde: LayeredSerializer) -> None:
        self.refused: dict[tuple[str, str], None] = {}
        self._serde = serde

    def load(self, data: tuple[str, bytes]) -> Any:
        """The shape of an old cell; `UNREAD` for one that has none, or does not open: to be counted, it need not."""
        try:
            outline = self._serde.outline(data)
        except SealpointError:
            return UNREAD
        self.refused.update(dict.fromkeys(outline.names))
        return outline.shape


class _Unread:
    """An old cell of which nothing is known."""


UNREAD = _Unread()


def coverage(core: Core, thread_id: str | None = None) -> Flow[Coverage]:
    """Counts; the inner saver is one whose old cells are read by a `Survey`."""
    config = None if thread_id is None else core.inward({"configurable": {THREAD: thread_id}})
    rows: list[Any] = yield Ask("list", (config,))
    values = [value for raw in rows for value in _values(raw.checkpoint)]
    writes = [(channel, value) for raw in rows for _, channel, value in raw.pending_writes or ()]
    hidden = core.names.nodes
    return Coverage(
        len(rows),
        sum(not core.opener.is_sealed(raw) for raw in rows),
        len(values),
        sum(not is_cell(value) for value in values),
        len(writes),
        sum(not (is_cell(value) or (hidden and not channel.startswith("__") and _under_token(value))) for channel, value in writes),
    )


def _values(checkpoint: Any) -> Iterator[Any]:
    values = checkpoint.get("channel_values") if isinstance(checkpoint, Mapping) else None
    yield from values.values() if isinstance(values, Mapping) else (UNREAD,)


def _under_token(value: Any) -> bool:
    """Whether it looks like a write with its channel's name before it: see `Cells.with_channel`."""
    return type(value) is bytes and looks_sealed(value[4:])

"""Moving a store to sealed values: what is not sealed yet is sealed in place; when to stop is the user's decision."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Version
from ...errors import SealpointError
from ...serde.codec.trust import refusal_of
from .cells import Cells
from .core import Core
from .coverage import Coverage, Survey, coverage
from .drive import Flow, damage_named, run
from .innerserde import NarrowSerde
from .narrowing import narrowed
from .places import ID, NS, THREAD, Place
from .reading import RawTuple, checked
from .rows import Row, Rows
from .skeleton import CONVERTED, Cell

_log = logging.getLogger("sealpoint")

Versions = dict[tuple[str, str, str, str], Version]


def convert(core: Core, inner: Any, rows: Rows, thread_id: str | None = None) -> Coverage:
    """Everything stored before sealing is sealed in place; may be stopped and run again, and finds what a live writer has added since.

    Values and writes that the inner saver would not replace are replaced row by row; then checkpoints are put again, oldest first, each
    with its parent. In this order, because an old checkpoint may have sealed values and writes, and a sealed one no old writes: wherever it
    stops, migration mode reads everything. At the end the paths of sealed writes are emptied, which are sealed with them.

    Raises:
        TypeRefusedError: old values hold types that are not allowed; the message names all of them, and nothing was converted.
    """
    _check_types(core, inner, rows, thread_id)
    config = None if thread_id is None else core.inward({"configurable": {THREAD: thread_id}})
    versions: Versions = {}
    found = sorted(_listed(inner, config), key=lambda raw: str(raw.checkpoint["id"]))
    for raw in found:
        place = core.opener.place(raw)
        for channel, version in raw.checkpoint["channel_versions"].items():
            versions[place.thread, place.ns, channel, str(version)] = version
    for row in rows.values(thread_id):
        if not inner.serde.holds_cell(row.tag, row.data):
            with _named(f"channel {row.channel!r} of thread {row.key[0]!r}"):
                _seal_value(core.cells, inner.serde, rows, row, versions)
    for row in rows.writes(thread_id):
        if not inner.serde.holds_cell(row.tag, row.data):
            with _named(f"a write to channel {row.channel!r} of thread {row.key[0]!r}, checkpoint {row.key[2]!r}"):
                _seal_write(core.cells, inner.serde, rows, row)
    for raw in found:
        if not core.opener.is_sealed(raw):
            place = core.opener.place(raw)
            with _named(f"checkpoint {raw.checkpoint['id']!r} of thread {place.thread!r}"):
                run(_seal_checkpoint(core, raw, place), inner)
    # Last: as long as a checkpoint is unsealed, the inner saver's order of its writes is the one that counts.
    for row in rows.writes(thread_id):
        if row.path and inner.serde.holds_cell(row.tag, row.data):
            rows.empty_path(row)
    core.cache.clear()
    covered = run(coverage(core, thread_id), narrowed(inner, core.profile, Survey(core.cells.serde).load))
    if not covered.complete:
        _log.warning("a conversion left values unsealed: another process writes to the store without SealedSaver; end it and convert again")
    return covered


def _check_types(core: Core, inner: Any, rows: Rows, thread_id: str | None) -> None:
    survey = Survey(core.cells.serde)
    run(coverage(core, thread_id), narrowed(inner, core.profile, survey.load))
    for row in chain(rows.values(thread_id), rows.writes(thread_id)):  # those that no checkpoint refers to as well
        if not inner.serde.holds_cell(row.tag, row.data):
            survey.load((row.tag, row.data))
    if survey.refused:
        raise refusal_of(survey.refused)


def _listed(inner: Any, config: RunnableConfig | None) -> list[RawTuple]:
    """As `fetch_all`; an error says near which checkpoint it is, since the saver reads old cells before it says whose they are."""
    found: list[RawTuple] = []
    try:
        with damage_named():
            for raw in inner.list(config):
                found.append(checked(raw))  # noqa: PERF401  # what was listed before an error is needed
    except SealpointError as exc:
        ids = found[-1].config["configurable"] if found else {}
        where = f"after {ids.get(ID)!r} of thread {ids.get(THREAD)!r}, newest first" if found else "first"
        exc.add_note(f"it is in the checkpoint that the saver lists {where}; nothing was converted")
        raise
    return found


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Adds to an error of ours where the conversion stopped."""
    try:
        yield
    except SealpointError as exc:
        exc.add_note(f"the conversion stopped at {what}, which stays as it was; what was converted before stays converted")
        raise


def _seal_checkpoint(core: Core, raw: RawTuple, place: Place) -> Flow[None]:
    opened = core.opener.open(raw, place, core.cache)
    ids = dict(raw.config["configurable"])
    ids.pop(ID)
    if opened.parent_config is not None:
        ids[ID] = opened.parent_config["configurable"][ID]
    config: RunnableConfig = {"configurable": {**ids, NS: place.ns}}
    yield from core.put(config, opened.checkpoint, opened.metadata, {}, unsealed=opened.checkpoint["channel_versions"])


def _seal_value(cells: Cells, serde: NarrowSerde, rows: Rows, row: Row, versions: Versions) -> None:
    key: tuple[str, str, str, str] = row.key
    thread, ns, channel, text = key
    value = serde.loads_typed((row.tag, row.data))
    version: Version = versions.get(key, text)
    cell = Cell(version, CONVERTED, type(value) is _DeltaSnapshot)
    rows.replace_value(row, *serde.dumps_typed(cells.seal_value(Place(thread, ns), channel, cell, value)))


def _seal_write(cells: Cells, serde: NarrowSerde, rows: Rows, row: Row) -> None:
    thread, ns, checkpoint_id, task_id, index = row.key
    value = serde.loads_typed((row.tag, row.data))
    sealed = cells.seal_write(Place(thread, ns), checkpoint_id, task_id, row.channel, index, row.path, value)
    rows.replace_write(row, *serde.dumps_typed(sealed))

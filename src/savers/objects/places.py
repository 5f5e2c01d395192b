"""Plans that find which threads there are, and which namespaces of one; where a key hashes them, an object there tells."""

from __future__ import annotations

import functools
from typing import Final

from ...errors import IntegrityError, ThreadErasedError
from . import layout
from .again import VanishedError, again
from .cells import Cells
from .format import Names
from .layout import Place
from .waves import WINDOW, Emit, Folders, Get, Page, Plan, Stream, Work

_FIRST_PAGE: Final = 16
_PAGE: Final = 1000


def namespaces(cells: Cells, thread_id: str) -> Plan[list[Place]]:
    """The namespaces of a thread: one LIST, and for long names one and one GET each.

    Raises:
        ThreadErasedError: all there is of a namespace with a long name is of an earlier life.
        IntegrityError: an object there was damaged, forged or moved; the message has its key.
    """
    folder = cells.layout.thread_folder(thread_id)
    (segments,) = yield [Folders(folder)]
    places = []
    for segment in segments:
        if not layout.is_namespace(segment):
            continue
        name = layout.name_of(segment)
        if layout.is_hashed_segment(segment):
            names = yield from _told(cells, folder.rstrip("/"), segment)
            name = names.checkpoint_ns if names else None
        if name is not None and cells.layout.folder(Place(thread_id, name)) == f"{folder}{segment}/":
            places.append(Place(thread_id, name))
    return places


def threads(cells: Cells) -> Stream[str]:
    """Every thread's id; where ids are hashed, one LIST or two and one GET each.

    A thread of which every object is of an erased life has none any more: its id is erased as well.

    Raises:
        IntegrityError: as `namespaces`.
    """
    (segments,) = yield [Folders("")]
    for segment in segments:
        if not layout.is_thread(segment):
            continue
        name = layout.name_of(segment)
        if layout.is_hashed_segment(segment):
            try:
                names = yield from _told(cells, segment, None)
            except ThreadErasedError:
                continue
            name = names.thread_id if names else None
        if name is not None and cells.layout.thread_folder(name) == f"{segment}/":
            yield Emit(name)


def _told(cells: Cells, thread: str, namespace: str | None) -> Plan[Names | None]:
    """The ids behind hashed segments; None when no object of ours is there."""
    return (yield from again(thread, lambda: _names(cells, thread, namespace)))


def _names(cells: Cells, thread: str, namespace: str | None) -> Plan[Names | None]:
    """From the first object that tells: foreign keys, and objects of an earlier life, stand in nobody's way."""
    prefix = f"{thread}/{namespace}/" if namespace else f"{thread}/"
    cursor, limit, size = "", _FIRST_PAGE, 1
    erased: ThreadErasedError | None = None
    lost = False
    while True:
        (page,) = yield [Page(prefix, cursor, limit)]
        ours = [(entry.key, part) for entry in page if (part := layout.place_and_sort(entry.key)) is not None]
        while ours:
            window, ours = ours[:size], ours[size:]
            size = WINDOW
            objects = yield [Get(key) for key, _ in window]
            for (key, (segment, sort)), data in zip(window, objects, strict=True):
                if data is None:
                    lost = True
                    continue
                try:
                    (names,) = yield [Work(functools.partial(_opened, cells, key, (thread, segment, sort), data))]
                except ThreadErasedError as exc:
                    erased = exc
                else:
                    return names  # type: ignore[no-any-return] # what `_opened` gave
        if len(page) < limit:
            break
        cursor, limit = page[-1].key, _PAGE
    if lost:
        raise VanishedError
    if erased is not None:
        raise erased
    return None


def _opened(cells: Cells, key: str, segments: tuple[str, str, str], data: bytes) -> Names:
    try:
        return cells.open_names(*segments, data)
    except IntegrityError as exc:
        raise type(exc)(f"object {key!r} does not tell which thread and namespace it is of: {exc}") from exc

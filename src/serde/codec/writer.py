"""An object to bytes of msgpack1: documents, each packed in one native call; the types are the kinds' business.

The first document is the object, with a reference where `default()` was asked. What was found there is grouped by class and becomes the
next document, and so on until nothing is left: no recursion, and what is plain never passes through Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import ormsgpack

from ...errors import SealpointError, ValueNotStorableError
from . import dispatch, frame, trace
from .kind import Kind, UnstorableError, Writing, packed_places
from .lift import TOO_DEEP, Octets, Pairs, Text, lifted
from .pickled import PICKLED
from .registry import REGISTERED, Codec
from .scan import SCALARS, has_large_bytes_on_top, is_exact

MAX_NESTING: Final = 255  # containers within one another in a document: what ormsgpack 1.13 packs; it unpacks 1,022
MAX_LEVELS: Final = frame.MAX_DOCUMENTS - 1  # of other objects
_SUSPECT: Final = 48  # documents; from here on, look for cycles

_OPTIONS: Final = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_WRAPPERS: Final[Mapping[type, type]] = {Pairs: dict, Text: str, Octets: bytes}


def dumps(obj: Any, codecs: Mapping[type, Codec], pickle: bool) -> bytes:
    """`obj` as msgpack1.

    Raises:
        ValueNotStorableError: something in it has no faithful form; the message says where and what to do.
    """
    if type(obj) in SCALARS or (type(obj) is list and SCALARS.issuperset(map(type, obj))):
        try:
            return frame.marshal(frame.NO_MARKER, [ormsgpack.packb(obj)], [])
        except ormsgpack.MsgpackEncodeError:
            pass  # a big int, or a lone surrogate
    out = Writing(codecs, pickle)
    try:
        return _written(obj, out)
    except UnstorableError as exc:
        culprit = exc.culprit
        where = trace.path_to(obj, culprit, lambda part: _kind(type(part), out), out)
        raise ValueNotStorableError(f"{where} ({_type_name(culprit)}) cannot be stored: {exc.reason}") from None


def _written(obj: Any, out: Writing) -> bytes:
    slow = _ROOT_ONLY if has_large_bytes_on_top(obj) else _NOTHING
    for _ in range(_ATTEMPTS):
        marker, documents, unproved = _documents(obj, out, slow)
        # Each by itself: what the first refers to lies among its plain values, and would have to be told from the plain ones of all.
        if all(map(is_exact, unproved.values())):
            return frame.marshal(marker, documents, out.buffers)
        slow |= {number for number, parts in unproved.items() if not is_exact(parts)}
        out.buffers.clear()
    raise UnstorableError("another thread changes it while it is being stored; store a copy", obj)


_ATTEMPTS: Final = 4  # the second settles every value that holds still
_NOTHING: Final[frozenset[int]] = frozenset()
_ROOT_ONLY: Final = frozenset({0})


def _documents(root: Any, out: Writing, slow: frozenset[int]) -> tuple[bytes, list[bytes], dict[int, list[Any]]]:
    """The marker, the documents, and by number what was packed as it is and has yet to be proved exact."""
    marker = frame.NO_MARKER
    reference: Any = None
    found: list[Any] = []

    def ask(part: Any) -> ormsgpack.Ext:
        nonlocal marker, reference
        if reference is None:
            marker = frame.fresh_marker()
            reference = ormsgpack.Ext(frame.REFERENCE, marker)
        found.append(part)
        return reference  # type: ignore[no-any-return]  # it starts as None

    documents: list[bytes] = []
    unproved: dict[int, list[Any]] = {}
    payload = root
    while True:
        number = len(documents)
        packed = None
        if number not in slow:
            try:
                packed = ormsgpack.packb(payload, default=ask, option=_OPTIONS)
            except ormsgpack.MsgpackEncodeError:
                found.clear()
            else:
                unproved[number] = out.unproved if number else [payload]
        if packed is None:
            packed = _packed_slowly(payload, ask, root)
        documents.append(packed)
        if not found:
            return marker, documents, unproved
        if number >= _SUSPECT:
            _refuse_cycles(root, number, out)
        out.unproved = []
        payload = _grouped(found, out)
        found.clear()


def _packed_slowly(payload: Any, ask: Any, root: Any) -> bytes:
    try:
        return ormsgpack.packb(lifted(payload, MAX_NESTING), default=ask, option=_OPTIONS)
    except UnstorableError as exc:
        raise UnstorableError(exc.reason, root if exc.culprit is None else exc.culprit) from None
    except ormsgpack.MsgpackEncodeError:
        raise UnstorableError("it changed while it was being stored, or is nested too deep", root) from None


def _refuse_cycles(root: Any, number: int, out: Writing) -> None:
    if number == _SUSPECT:
        path = trace.cycle_path(root, lambda part: _kind(type(part), out), out)
        if path is not None:
            raise ValueNotStorableError(f"{path} contains itself; store a reference by name or id instead")
    if number >= MAX_LEVELS:
        raise UnstorableError(TOO_DEEP.format(MAX_LEVELS), root)


# --- groups ----------------------------------------------------------------------------------------------------------


def _grouped(found: list[Any], out: Writing) -> list[Any]:
    """The next payload: order of the groups' objects, groups, and which object each reference means when some occur twice."""
    objs, references = list(found), None
    if len(objs) > 1 and len(set(map(id, objs))) != len(objs):
        distinct = {id(obj): obj for obj in objs}
        numbers = {identity: number for number, identity in enumerate(distinct)}
        references = [numbers[id(obj)] for obj in objs]
        objs = list(distinct.values())
    types = list(map(type, objs))
    buffers = len(out.buffers)
    try:
        known = dispatch.known.get
        keys: dict[type, type | Kind] = {}
        for cls in set(types):
            kind = known(cls)
            keys[cls] = _key(cls, out) if kind is None or cls in out.codecs else kind if kind.mixed else cls
        if len(keys) == 1 or len(set(keys.values())) == 1:
            return [None, [_group(types[0], objs, out)], references]
        members: dict[type | Kind, list[Any]] = {}
        for cls, obj in zip(types, objs, strict=True):
            members.setdefault(keys[cls], []).append(obj)
        places = {key: number for number, key in enumerate(members)}
        groups = [_group(type(same[0]), same, out) for same in members.values()]
        return [packed_places([places[keys[cls]] for cls in types], len(groups)), groups, references]
    except UnstorableError:
        if not out.pickle:
            raise
        # One of them, or its class, has no form of ours.
        del out.buffers[buffers:], out.unproved[:]
        return _grouped_singly(objs, references, out)


def _key(cls: type, out: Writing) -> type | Kind:
    """What objects of this class are grouped by: the class, or the kind where that takes several."""
    try:
        kind = _kind(cls, out)
    except UnstorableError:
        return cls
    return kind if kind.mixed else cls


def _grouped_singly(objs: list[Any], references: list[int] | None, out: Writing) -> list[Any]:
    """With the pickle fallback: as above, but an object that its kind refuses goes to pickle, and only that one."""
    members: dict[tuple[type, bool], list[Any]] = {}
    keys = []
    for obj in objs:
        key = (type(obj), _is_refused(obj, out))
        keys.append(key)
        members.setdefault(key, []).append(obj)
    places = {key: number for number, key in enumerate(members)}
    groups = [_group(cls, same, out, PICKLED if refused else None) for (cls, refused), same in members.items()]
    order = None if len(groups) == 1 else packed_places([places[key] for key in keys], len(groups))
    return [order, groups, references]


def _is_refused(obj: Any, out: Writing) -> bool:
    cls = type(obj)
    if cls in _WRAPPERS:
        return False
    buffers = len(out.buffers)
    try:
        _kind(cls, out).encode(cls, [obj], out)
    except Exception:  # noqa: BLE001 - whatever its kind raises, pickle is asked next
        return True
    finally:
        del out.buffers[buffers:]
    return False


def _kind(cls: type, out: Writing) -> Kind:
    return REGISTERED if cls in out.codecs else dispatch.kind_of(cls)


def _group(cls: type, objs: list[Any], out: Writing, kind: Kind | None = None) -> list[Any]:
    buffers = len(out.buffers)
    try:
        kind = kind or _kind(cls, out)
        columns = kind.encode(cls, objs, out)
        out.unproved += columns if kind.foreign is None else kind.foreign(columns)
        return [kind.code, *columns]
    except UnstorableError as exc:
        if exc.culprit is None:
            exc.culprit = _first_refused(cls, objs, out, kind)
        del out.buffers[buffers:]
        raise
    except (SealpointError, MemoryError):
        raise
    except Exception as exc:
        raise UnstorableError(f"reading its state raised {type(exc).__name__}", objs[0]) from exc


def _first_refused(cls: type, objs: list[Any], out: Writing, kind: Kind | None) -> Any:
    if kind is None:
        return objs[0]
    for obj in objs:
        try:
            kind.encode(cls if not kind.mixed else type(obj), [obj], Writing(out.codecs, out.pickle))
        except UnstorableError:
            return obj
    return objs[0]


def _type_name(culprit: Any) -> str:
    cls = _WRAPPERS.get(type(culprit), type(culprit))
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"

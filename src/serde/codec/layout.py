"""Where the state of a class's instances lies, and whether it is all there is; it reads and writes state, and calls nothing of the class.

State is what `__dict__` and slots hold, on top of the value of one builtin base. A class that says otherwise (its own ``__getstate__``,
``__setstate__`` or ``__reduce__``), that acts when it dies (``__del__``), or that keeps native state, is refused.
"""

from __future__ import annotations

import copyreg
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from .kind import UnstorableError

_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE, CPython's Include/object.h
_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_POINTER: Final = object.__basicsize__ // 2
_OPINIONS: Final = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__del__")
# Generated or inherited versions of those methods that say no more than "all slots and __dict__".
_GENERATED_BY: Final = frozenset(
    {"attr._make", "dataclasses", "fractions", "json.decoder", "uuid", "pydantic.main", "pydantic.root_model", "pydantic.v1.main"}
)
CACHED_HASH: Final = "_attrs_cached_hash"  # attrs 26, cache_hash=True: holds for one process only


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read and write the state of one class.

    Args:
        get_dict, set_dict: of ``__dict__``, None where instances have none.
        slots: for each slot its name, getter and setter.
        caches_hash: whether attrs keeps the hash in one of them, which holds for one process only.
    """

    get_dict: Callable[[Any], dict[str, Any]] | None
    set_dict: Callable[[Any, dict[str, Any]], None] | None
    slots: tuple[tuple[str, Callable[[Any], Any], Callable[[Any, Any], None]], ...]
    caches_hash: bool = False

    def read_slots(self, obj: Any) -> dict[str, Any]:
        """The slots that are filled."""
        state = {}
        for name, get, _set in self.slots:
            try:
                state[name] = get(obj)
            except AttributeError:
                continue
        if self.caches_hash and CACHED_HASH in state:
            state[CACHED_HASH] = None
        return state


_layouts: Final[dict[tuple[type, frozenset[type]], Layout | str]] = {}
_MAX_LAYOUTS: Final = 4096  # classes; those made at run time would otherwise stay for ever


def layout_of(cls: type, native: frozenset[type]) -> Layout:
    """The layout of `cls`, worked out once for every class.

    Args:
        cls: the class.
        native: the builtin classes whose own state the caller stores.

    Raises:
        UnstorableError: there is more to its instances than state.
    """
    found = _layouts.get((cls, native))
    if found is None:
        try:
            found = _examine(cls, native)
        except UnstorableError as exc:
            found = exc.reason
        if len(_layouts) >= _MAX_LAYOUTS:
            _layouts.clear()
        _layouts[cls, native] = found
    if isinstance(found, str):
        raise UnstorableError(found)
    return found


def _examine(cls: type, native: frozenset[type]) -> Layout:
    if cls in copyreg.dispatch_table:
        raise UnstorableError("its class is registered with copyreg; register a codec for it: JsonPlus().register(…)")
    slots: dict[str, Any] = {}
    dict_owner: Any = None
    for base in cls.__mro__:
        if base in native or base is object:
            continue
        if not base.__flags__ & _HEAP_TYPE or base.__flags__ & _IMMUTABLE:
            raise UnstorableError(
                f"it keeps state inside the native class {base.__module__}.{base.__qualname__}; register a codec for its class"
            )
        members = [(name, member) for name, member in vars(base).items() if isinstance(member, types.MemberDescriptorType)]
        _check_size(base, len(members))
        for name, member in members:
            if name in slots:
                raise UnstorableError(f"its class has two slots named {name!r}")
            slots[name] = member
    for name in _OPINIONS:
        _check_opinion(cls, name, native)
    for base in cls.__mro__:
        if "__dict__" in vars(base):
            dict_owner = vars(base)["__dict__"]
            break
    if dict_owner is not None and not isinstance(dict_owner, (types.GetSetDescriptorType, types.MemberDescriptorType)):
        raise UnstorableError("its class redefines __dict__")
    if cls.__dictoffset__ == 0:
        dict_owner = None
    slots.pop("__dict__", None)
    return Layout(
        getattr(dict_owner, "__get__", None),
        getattr(dict_owner, "__set__", None),
        tuple((name, member.__get__, member.__set__) for name, member in slots.items()),
        CACHED_HASH in slots and caches_hash(slots[CACHED_HASH].__objclass__),
    )


def caches_hash(cls: type) -> bool:
    """Whether attrs made this class, and so may keep a hash under a name of its own; an attribute that was declared so is the user's."""
    declared = getattr(cls, "__attrs_attrs__", None)
    return isinstance(declared, tuple) and all(attribute.name != CACHED_HASH for attribute in declared)


def _check_opinion(cls: type, name: str, native: frozenset[type]) -> None:
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    if owner is object or owner in native:
        return
    method = vars(owner)[name]
    if name != "__del__" and isinstance(method, types.FunctionType) and method.__globals__.get("__name__") in _GENERATED_BY:
        return
    what = "acts when an instance dies" if name == "__del__" else "decides itself what its state is"
    raise UnstorableError(f"its class defines {name}, so it {what}; register a codec for it: JsonPlus().register(…)")


def _check_size(cls: type, members: int) -> None:
    base = cls.__base__
    if base is None:
        return
    # Before Python 3.12 a weak-reference list takes one pointer of its own; a __dict__ on a variable-size base may take one, too.
    spare = cls.__basicsize__ - base.__basicsize__ - members * _POINTER
    if not 0 <= spare <= 2 * _POINTER and cls.__basicsize__ != base.__basicsize__:
        raise UnstorableError("its class keeps native state; register a codec for it: JsonPlus().register(…)")

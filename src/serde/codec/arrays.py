"""numpy arrays, scalars and dtypes: contents only, never a memory address; object arrays are stored item by item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...errors import MissingTypeError
from .buffers import read_view
from .classes import marshal_class, stored_class
from .containers import indexed
from .frame import SLICE, copy_into
from .kind import BufferSource, Kind, MalformedError, Reading, UnstorableError, Writing, all_exactly, exactly, expect, listed
from .layout import layout_of
from .scan import LARGE
from .subclasses import read_dict, write_dict

if TYPE_CHECKING:
    import numpy as np

_SUBCLASS: Final = 54
_TYPE_STRING: Final = re.compile(r"[<>|][biufcSUMmVO][0-9]{0,10}(\[[0-9]{0,10}[A-Za-z]{1,7}\])?", re.ASCII)
_MAX_NESTING: Final = 16  # structured types within structured types
_KNOWN_FINALIZERS: Final = frozenset({"numpy", "numpy.matrixlib.defmatrix", "numpy.rec", "numpy._core.records", "numpy.core.records"})


def numpy() -> Any:
    """The numpy module.

    Raises:
        MissingTypeError: it is not installed.
    """
    try:
        import numpy
    except ImportError as exc:
        raise MissingTypeError("a stored value holds numpy data: pip install numpy to read it") from exc
    return numpy


# --- dtypes ----------------------------------------------------------------------------------------------------------


def describe_dtype(dtype: np.dtype[Any]) -> Any:
    """A dtype as plain data: a type string, or nested lists for structured and sub-array types.

    Raises:
        UnstorableError: it has metadata, or is of a kind without a fixed form.
    """
    described = _describe(dtype, 0)
    made = parse_dtype(described)
    if made != dtype or made.char != dtype.char or made.type is not dtype.type:
        raise UnstorableError("its dtype does not come back equal from a description; use a plain dtype without metadata")
    return described


def _describe(dtype: Any, depth: int) -> Any:
    if depth > _MAX_NESTING:
        raise UnstorableError("its dtype is nested too deep")
    if dtype.metadata is not None:
        raise UnstorableError("its dtype has metadata, which is not stored; use a plain dtype")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ["sub", _describe(base, depth + 1), list(shape)]
    if dtype.names is not None:
        fields = [dtype.fields[name] for name in dtype.names]
        titles = [field[2] if len(field) > 2 else None for field in fields]
        formats = [_describe(field[0], depth + 1) for field in fields]
        form = "record" if dtype.type is numpy().void else "recarray"
        return [form, list(dtype.names), formats, [field[1] for field in fields], titles, dtype.itemsize, dtype.isalignedstruct]
    if dtype.kind not in "biufcSUMmVO":
        raise UnstorableError(f"dtypes of kind {dtype.kind!r} have no fixed form in memory; convert with astype(object) or astype('U')")
    if dtype.char in "qQ" and numpy().dtype(dtype.str).char != dtype.char:
        # C's long long where long is as long: another type, equal to it in all that an item does.
        return ["long long", dtype.char, dtype.str[0]]
    return dtype.str


def parse_dtype(described: Any, depth: int = 0) -> Any:
    """The dtype that `describe_dtype` described."""
    np = numpy()
    if type(described) is str:
        return simple_dtype(described)
    form, *rest = listed(described)
    exactly(str, form)
    if depth > _MAX_NESTING:
        raise MalformedError
    if form == "sub":
        base, shape = expect(rest, 2)
        return np.dtype((parse_dtype(base, depth + 1), tuple(all_exactly(int, shape))))
    if form == "long long":
        char, order = all_exactly(str, rest, 2)
        if char not in ("q", "Q") or order not in ("<", ">"):
            raise MalformedError
        made = np.dtype(char)
        return made if made.str[0] == order else made.newbyteorder(order)
    if form not in ("record", "recarray"):
        raise MalformedError
    names, formats, offsets, titles, itemsize, aligned = expect(rest, 6)
    all_exactly(str, names)
    all_exactly(int, offsets, len(names))
    exactly(int, itemsize)
    if not set(map(type, listed(titles))) <= {str, type(None)} or len(listed(formats)) != len(names):
        raise MalformedError
    fields = {"names": names, "formats": [parse_dtype(one, depth + 1) for one in formats], "offsets": offsets, "itemsize": itemsize}
    if any(title is not None for title in titles):
        fields["titles"] = titles
    made = np.dtype(fields, align=aligned is True)
    return made if form == "record" else np.dtype((np.record, made))


def simple_dtype(text: Any) -> Any:
    """The dtype of a type string such as ``<f4`` or ``<M8[ns]``; numpy itself would parse and evaluate far more than those."""
    if type(text) is not str or _TYPE_STRING.fullmatch(text) is None:
        raise MalformedError
    return numpy().dtype(text)


DTYPE: Final = Kind(
    52,
    lambda _cls, objs, _out: [[describe_dtype(obj) for obj in objs]],
    lambda columns, _source: [parse_dtype(row) for row in listed(*expect(columns, 1))],
)

# --- scalars ---------------------------------------------------------------------------------------------------------


def _encode_scalars(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    return [[_scalar_row(obj) for obj in objs]]


def _scalar_row(obj: Any) -> list[Any]:
    dtype = obj.dtype
    if dtype.hasobject:
        raise UnstorableError("it is a numpy scalar that holds Python objects", obj)
    if dtype.kind in "US":
        # numpy cuts zeros at the end when it reads an item, so the value goes by itself.
        return [dtype.kind, str.__str__(obj) if dtype.kind == "U" else bytes(memoryview(obj))]
    return [describe_dtype(dtype), obj.tobytes()]


def _decode_scalars(columns: list[Any], _source: Reading) -> list[Any]:
    np = numpy()
    made = []
    for described, raw in listed(*expect(columns, 1)):
        if described == "U":
            made.append(np.str_(exactly(str, raw)))
        elif described == "S":
            made.append(np.bytes_(exactly(bytes, raw)))
        else:
            made.append(_zero_dimensional(np, parse_dtype(described), raw)[()])
    return made


def _zero_dimensional(np: Any, dtype: Any, raw: Any) -> Any:
    if dtype.hasobject or len(exactly(bytes, raw)) != dtype.itemsize:
        raise MalformedError
    made = np.ndarray((), dtype, raw)
    if made.dtype != dtype:
        raise MalformedError
    return made.copy()


SCALAR: Final = Kind(51, _encode_scalars, _decode_scalars)

# --- arrays ----------------------------------------------------------------------------------------------------------


def _array_row(array: Any, out: Writing) -> list[Any]:
    """Description, shape, order, writeable, and the items or their bytes."""
    flags = array.flags
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    described = describe_dtype(array.dtype)
    head = [described, list(array.shape), order, flags.writeable]
    if array.dtype.hasobject:
        if described != "|O":
            raise UnstorableError("it is a structured numpy array that holds Python objects; store its columns", array)
        return [*head, _items(array, order)]
    if numpy().empty(0, array.dtype).dtype != array.dtype:
        raise UnstorableError("its items have a size of 0, which numpy does not make again; store its shape", array)
    if array.nbytes < LARGE:
        return [*head, array.tobytes(order)]
    return [*head, out.add_buffer(BufferSource(array.nbytes, lambda room: _write(array, order, room)))]


def _items(array: Any, order: str) -> list[Any]:
    flat = array.ravel(order)
    return [flat[number] for number in range(len(flat))]


def _write(array: Any, order: str, room: memoryview) -> None:
    np = numpy()
    turned = array.T if order == "F" else array
    if turned.flags.c_contiguous:
        copy_into(room, memoryview(turned.reshape(-1).view(np.uint8)))
        return
    target = np.ndarray(turned.shape, turned.dtype, room)
    if turned.ndim == 1:
        step = max(1, SLICE // turned.itemsize)
        for start in range(0, len(turned), step):
            target[start : start + step] = turned[start : start + step]
        return
    for number in range(len(turned)):
        target[number] = turned[number]


def _array(row: Any, source: Reading) -> Any:
    np = numpy()
    described, shape, order, writeable, stored = expect(listed(row), 5)
    dtype = parse_dtype(described)
    if order not in ("C", "F"):
        raise MalformedError
    count = 1
    for length in listed(shape):
        if type(length) is not int or length < 0:
            raise MalformedError
        count *= length
    if dtype.hasobject:
        if dtype.str != "|O" or len(listed(stored)) != count:
            raise MalformedError
        made = np.empty(count, object)
        for number, item in enumerate(stored):
            made[number] = item
        made = made.reshape(shape, order=order)
    else:
        raw = read_view(stored, source)
        if len(raw) != count * dtype.itemsize:
            raise MalformedError
        if np.empty(0, dtype).dtype != dtype:
            # numpy takes a size of 0 for one that it has to find out: such an array would show what was in memory before.
            raise MalformedError
        made = np.empty(shape, dtype, order)
        if made.dtype != dtype or made.nbytes != len(raw):
            raise MalformedError
        if len(raw):
            with memoryview((made.T if order == "F" else made).reshape(-1).view(np.uint8)) as room:
                copy_into(room, raw)
    if writeable is False:
        made.setflags(write=False)
    return made


def _encode_arrays(_cls: type, objs: list[Any], out: Writing) -> list[Any]:
    return [[_array_row(obj, out) for obj in objs]]


def _decode_arrays(columns: list[Any], source: Reading) -> list[Any]:
    return [_array(row, source) for row in listed(*expect(columns, 1))]


def _parts(array: Any) -> Any:
    return indexed(_items(array, "C")) if array.dtype.hasobject else ()


ARRAY: Final = Kind(50, _encode_arrays, _decode_arrays, _parts)

# --- masked arrays and user subclasses -------------------------------------------------------------------------------


def _encode_masked(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    np = numpy()
    rows = []
    for obj in objs:
        state = {name: value for name, value in vars(obj).items() if name not in _MASKED_STATE}
        if state or (obj._optinfo or {}) or obj._basedict:
            raise UnstorableError("it is a masked array with attributes of its own; store those beside it", obj)
        plain = np.ndarray.view(obj, np.ndarray)
        mask = None if obj._mask is np.ma.nomask else np.asarray(obj._mask)
        fill = None if obj._fill_value is None else np.asarray(obj._fill_value)
        rows.append([plain, mask, fill, bool(obj._hardmask)])
    return [rows]


_MASKED_STATE: Final = frozenset({"_mask", "_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo", "_basedict"})


def _decode_masked(columns: list[Any], _source: Reading) -> list[Any]:
    np = numpy()
    made = []
    for data, mask, fill, hard in listed(*expect(columns, 1)):
        if not {type(data), type(mask), type(fill)} <= {np.ndarray, type(None)} or data is None:
            raise MalformedError
        if (mask is not None and mask.shape != data.shape) or (fill is not None and (fill.shape != () or fill.dtype != data.dtype)):
            raise MalformedError
        one = np.ma.MaskedArray(data, mask=np.ma.nomask if mask is None else mask, hard_mask=hard is True)
        if fill is not None:
            one._fill_value = fill
        made.append(one)
    return made


MASKED: Final = Kind(53, _encode_masked, _decode_masked)


def subclass_layout(cls: type) -> Any:
    """The layout of an ndarray subclass.

    Raises:
        UnstorableError: numpy would call the class's own code when making an instance.
    """
    np = numpy()
    owner = next(base for base in cls.__mro__ if "__array_finalize__" in vars(base))
    if owner is not np.ndarray and owner.__module__ not in _KNOWN_FINALIZERS:
        raise UnstorableError("its class defines __array_finalize__, which numpy calls for every new array; register a codec for it")
    known = [base for base in cls.__mro__ if base is np.ndarray or base.__module__ in _KNOWN_FINALIZERS]
    return layout_of(cls, frozenset(known))


def _encode_subclass(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    np = numpy()
    layout = subclass_layout(cls)
    if issubclass(cls, (np.memmap, np.ma.MaskedArray)):
        raise UnstorableError("this kind of array is tied to a file or carries a mask; store numpy.array(it) or its parts")
    rows = [[np.ndarray.view(obj, np.ndarray), read_dict(layout, obj), layout.read_slots(obj) or None] for obj in objs]
    return [marshal_class(cls), rows]


def _decode_subclass(columns: list[Any], source: Reading) -> list[Any]:
    np = numpy()
    head, rows = expect(columns, 2)
    cls = stored_class(head, _SUBCLASS, source)
    layout = subclass_layout(cls)
    setters = {name: put for name, _get, put in layout.slots}
    made = []
    for plain, state, slots in listed(rows):
        if type(plain) is not np.ndarray:
            raise MalformedError
        one = np.ndarray.view(plain, cls)
        write_dict(layout, one, state)
        for name, value in (slots or {}).items():
            setters[name](one, value)
        made.append(one)
    return made


SUBCLASS: Final = Kind(_SUBCLASS, _encode_subclass, _decode_subclass)

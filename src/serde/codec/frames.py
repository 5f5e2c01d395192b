"""Frames, series, indexes, arrays and scalars of pandas, taken apart into numpy arrays; what does not come back the same is refused.

pandas has many ways to be almost equal, so each is rebuilt on writing and compared, dtypes and flags included.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, Final

from ...errors import MissingTypeError
from .containers import indexed
from .kind import Kind, MalformedError, Reading, UnstorableError, Writing, all_exactly, exactly, expect, listed


def pandas() -> Any:
    """The pandas module.

    Raises:
        MissingTypeError: it is not installed.
    """
    try:
        import pandas
    except ImportError as exc:
        raise MissingTypeError("a stored value holds pandas data: pip install pandas to read it") from exc
    return pandas


# --- arrays ----------------------------------------------------------------------------------------------------------


def _array_parts(array: Any) -> list[Any]:
    """One column's values: a form and what it is made of."""
    pd, np = pandas(), _np()
    if type(array) is np.ndarray:
        return ["numpy", array]
    dtype = array.dtype
    if isinstance(dtype, np.dtype) or type(array) is pd.arrays.NumpyExtensionArray:
        return ["numpy", np.asarray(array)]
    if isinstance(dtype, pd.CategoricalDtype):
        return ["categorical", np.asarray(array.codes), _index_parts(array.categories), bool(array.ordered)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ["zoned", np.asarray(array.asi8), dtype.unit, dtype.tz]
    if isinstance(dtype, pd.PeriodDtype):
        return ["period", np.asarray(array.asi8), dtype.name.removeprefix("period[").removesuffix("]")]
    if isinstance(dtype, pd.IntervalDtype):
        return ["interval", _index_parts(array.left), _index_parts(array.right), array.closed]
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        return ["string", dtype.storage, missing, [None if gone else str(item) for item, gone in zip(array, array.isna(), strict=True)]]
    if isinstance(array, _masked_types(pd)):
        return ["masked", dtype.name, np.asarray(array._data), np.asarray(array._mask)]
    raise UnstorableError(f"pandas arrays of dtype {type(dtype).__name__} have no form here; convert the column with astype")


def _masked_types(pd: Any) -> tuple[Any, ...]:
    return (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)


def _array_from(parts: Any) -> Any:
    pd = pandas()
    form, *rest = listed(parts)
    if form == "numpy":
        (array,) = expect(rest, 1)
        return _items(array)
    if form == "categorical":
        codes, categories, ordered = expect(rest, 3)
        return pd.Categorical.from_codes(_items(codes), dtype=pd.CategoricalDtype(_index_from(categories), ordered=exactly(bool, ordered)))
    if form == "zoned":
        ticks, unit, zone = expect(rest, 3)
        return pd.Series(_items(ticks, "i8").view(f"M8[{_unit(unit)}]")).dt.tz_localize("UTC").dt.tz_convert(_zone(zone)).array
    if form == "period":
        ticks, freq = expect(rest, 2)
        return pd.arrays.PeriodArray(_items(ticks, "i8"), dtype=pd.PeriodDtype(exactly(str, freq)))
    if form == "interval":
        left, right, closed = expect(rest, 3)
        if listed(left)[:1] != ["array"] or listed(right)[:1] != ["array"]:
            # Of a range, all items would be made.
            raise MalformedError
        return pd.arrays.IntervalArray.from_arrays(_index_from(left), _index_from(right), closed=exactly(str, closed))
    if form == "string":
        storage, missing, items = expect(rest, 3)
        if not set(map(type, listed(items))) <= {str, type(None)}:
            raise MalformedError
        return pd.array(items, dtype=pd.StringDtype(exactly(str, storage), na_value=pd.NA if missing == "NA" else float("nan")))
    if form == "masked":
        name, data, mask = expect(rest, 3)
        kind = type(pd.array([], dtype=exactly(str, name)))
        if kind not in _masked_types(pd):
            raise MalformedError
        return kind(_items(data).copy(), _items(mask, "?").copy())
    raise MalformedError


def _items(array: Any, dtype: str | None = None) -> Any:
    """The array, if it is a plain numpy array in one dimension; pandas would repeat a scalar as often as an index says."""
    np = _np()
    if type(array) is not np.ndarray or array.ndim != 1 or (dtype is not None and array.dtype != dtype):
        raise MalformedError
    return array


def _unit(unit: Any) -> str:
    if type(unit) is not str or unit not in ("s", "ms", "us", "ns"):
        raise MalformedError
    return unit


def _zone(zone: Any) -> Any:
    """A time zone or None; of a text pandas would make one, from a file if the text says so."""
    if zone is not None and not isinstance(zone, datetime.tzinfo):
        raise MalformedError
    return zone


def _np() -> Any:
    from .arrays import numpy

    return numpy()


# --- indexes ---------------------------------------------------------------------------------------------------------


def _index_parts(index: Any) -> list[Any]:
    pd = pandas()
    if type(index) is pd.RangeIndex:
        return ["range", index.start, index.stop, index.step, index.name]
    if type(index) is pd.MultiIndex:
        levels = [_index_parts(level) for level in index.levels]
        return ["multi", levels, [_np().asarray(codes) for codes in index.codes], list(index.names)]
    freq = getattr(index, "freqstr", None) if type(index) in (pd.DatetimeIndex, pd.TimedeltaIndex) else None
    return ["array", _array_parts(index.array), index.name, freq]


def _index_from(parts: Any) -> Any:
    pd = pandas()
    form, *rest = listed(parts)
    if form == "range":
        start, stop, step, name = expect(rest, 4)
        all_exactly(int, [start, stop, step])
        return pd.RangeIndex(start, stop, step, name=name)
    if form == "multi":
        levels, codes, names = expect(rest, 3)
        return pd.MultiIndex([_index_from(level) for level in listed(levels)], list(map(_items, listed(codes))), names=listed(names))
    if form != "array":
        raise MalformedError
    array, name, freq = expect(rest, 3)
    values = _array_from(array)
    index = pd.Index(values, dtype=values.dtype, name=name, copy=True)
    return index if freq is None else type(index)(index, freq=exactly(str, freq), name=name)


# --- frames and series -----------------------------------------------------------------------------------------------


def _flags(obj: Any) -> list[Any]:
    return [bool(obj.flags.allows_duplicate_labels), dict(obj.attrs)]


def _flagged(obj: Any, flags: Any) -> Any:
    unique, attrs = expect(listed(flags), 2)
    obj.attrs = exactly(dict, attrs)
    return obj if unique else obj.set_flags(allows_duplicate_labels=False)


def _series_parts(series: Any) -> list[Any]:
    return [_array_parts(series.array), _index_parts(series.index), series.name, _flags(series)]


def _series_from(parts: Any) -> Any:
    array, index, name, flags = expect(listed(parts), 4)
    values = _array_from(array)
    return _flagged(pandas().Series(values, index=_index_from(index), dtype=values.dtype, name=name, copy=True), flags)


def _frame_parts(frame: Any) -> list[Any]:
    columns = [_array_parts(frame.iloc[:, number].array) for number in range(frame.shape[1])]
    return [columns, _index_parts(frame.columns), _index_parts(frame.index), _flags(frame)]


def _frame_from(parts: Any) -> Any:
    pd = pandas()
    columns, labels, rows, flags = expect(listed(parts), 4)
    index = _index_from(rows)
    arrays = [_array_from(column) for column in listed(columns)]
    frame = pd.DataFrame({number: pd.Series(a, index=index, dtype=a.dtype) for number, a in enumerate(arrays)}, index=index, copy=True)
    frame.columns = _index_from(labels)
    return _flagged(frame, flags)


def _same_index(pd: Any, a: Any, b: Any) -> None:
    pd.testing.assert_index_equal(a, b, exact=True, check_exact=True)
    if getattr(a, "freq", None) != getattr(b, "freq", None):
        raise AssertionError


def _same_series(pd: Any, a: Any, b: Any) -> None:
    pd.testing.assert_series_equal(a, b, check_exact=True, check_flags=True, check_index_type=True, check_freq=True)
    _same_index(pd, a.index, b.index)


def _same_frame(pd: Any, a: Any, b: Any) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True, check_flags=True, check_index_type=True, check_column_type=True, check_freq=True)
    _same_index(pd, a.index, b.index)
    _same_index(pd, a.columns, b.columns)


def _same_array(pd: Any, a: Any, b: Any) -> None:
    pd.testing.assert_extension_array_equal(a, b, check_exact=True)


def _checked(
    code: int, take_apart: Callable[[Any], list[Any]], rebuild: Callable[[Any], Any], same: Callable[[Any, Any, Any], None]
) -> Kind:
    def encode(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
        rows = []
        for obj in objs:
            try:
                row = take_apart(obj)
                same(pandas(), obj, rebuild(row))
            except UnstorableError:
                raise
            except Exception as exc:
                raise UnstorableError(
                    "pandas rebuilds it with a difference; reset its index or convert its columns with astype", obj
                ) from exc
            rows.append(row)
        return [rows]

    def decode(columns: list[Any], source: Reading) -> list[Any]:
        rows = listed(*expect(columns, 1))
        if not source.authenticated:
            _count_objects(rows, source)
        return list(map(rebuild, rows))

    return Kind(code, encode, decode, lambda obj: indexed(take_apart(obj)))


def _count_objects(rows: list[Any], source: Reading) -> None:
    """Spends what pandas spends on hashing the objects that it may index."""
    left = list(rows)
    while left:
        part = left.pop()
        if type(part) is list:
            left += part
        elif getattr(getattr(part, "dtype", None), "kind", None) == "O":
            items = list(part.flat)
            try:
                source.hashed(items)
            except TypeError:
                source.hashed([item for item in items if _has_hash(item)])


def _has_hash(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


FRAME: Final = _checked(60, _frame_parts, _frame_from, _same_frame)
SERIES: Final = _checked(61, _series_parts, _series_from, _same_series)
INDEX: Final = _checked(62, _index_parts, _index_from, _same_index)
ARRAY: Final = _checked(63, _array_parts, _array_from, _same_array)

# --- scalars ---------------------------------------------------------------------------------------------------------


def _timestamp_parts(value: Any) -> list[Any]:
    return [
        "timestamp",
        int(value.asm8.view("i8")) if value.tzinfo is None else int(value.tz_convert(None).asm8.view("i8")),
        value.unit,
        value.tz,
        value.fold,
    ]


def _timestamp_from(rest: list[Any]) -> Any:
    pd = pandas()
    ticks, unit, zone, fold = expect(rest, 4)
    all_exactly(int, [ticks, fold])
    made = pd.Timestamp(_np().datetime64(ticks, _unit(unit)))
    if _zone(zone) is not None:
        return made.tz_localize("UTC").tz_convert(zone)
    return made.replace(fold=1) if fold else made


def _scalar_parts(value: Any) -> list[Any]:
    pd = pandas()
    if value is pd.NaT:
        return ["NaT"]
    if value is pd.NA:
        return ["NA"]
    if type(value) is pd.Timestamp:
        return _timestamp_parts(value)
    if type(value) is pd.Timedelta:
        return ["timedelta", int(value.asm8.view("i8")), value.unit]
    if type(value) is pd.Period:
        return ["period", value.ordinal, value.freqstr]
    return ["interval", value.left, value.right, value.closed]


def _scalar_from(parts: Any) -> Any:
    pd = pandas()
    form, *rest = listed(parts)
    if form in ("NaT", "NA"):
        return getattr(pd, form)
    if form == "timestamp":
        return _timestamp_from(rest)
    if form == "timedelta":
        ticks, unit = expect(rest, 2)
        return pd.Timedelta(_np().timedelta64(exactly(int, ticks), _unit(unit)))
    if form == "period":
        ordinal, freq = expect(rest, 2)
        return pd.Period(ordinal=exactly(int, ordinal), freq=exactly(str, freq))
    if form != "interval":
        raise MalformedError
    left, right, closed = expect(rest, 3)
    return pd.Interval(left, right, exactly(str, closed))


def _same_scalar(pd: Any, a: Any, b: Any) -> None:
    if type(a) is not type(b) or (a is not pd.NaT and a is not pd.NA and a != b):
        raise AssertionError
    for name in ("unit", "fold", "tz", "freqstr", "closed"):
        if getattr(a, name, None) != getattr(b, name, None):
            raise AssertionError


SCALAR: Final = _checked(64, _scalar_parts, _scalar_from, _same_scalar)


def exact_types(pd: Any) -> dict[type, Kind]:
    """The pandas types that are stored, each with its kind."""
    indexes = (
        pd.Index,
        pd.RangeIndex,
        pd.MultiIndex,
        pd.DatetimeIndex,
        pd.TimedeltaIndex,
        pd.PeriodIndex,
        pd.CategoricalIndex,
        pd.IntervalIndex,
    )
    arrays = (
        pd.Categorical,
        pd.arrays.DatetimeArray,
        pd.arrays.IntervalArray,
        pd.arrays.PeriodArray,
        pd.arrays.StringArray,
        *_masked_types(pd),
    )
    scalars = (pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval, type(pd.NaT), type(pd.NA))
    found: dict[type, Kind] = {pd.DataFrame: FRAME, pd.Series: SERIES}
    found.update(dict.fromkeys(indexes, INDEX))
    found.update(dict.fromkeys(arrays, ARRAY))
    found.update(dict.fromkeys(scalars, SCALAR))
    return found

"""Dates and times of the standard library, with zone and fold; pandas has its own."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any, Final
from zoneinfo import ZoneInfo

from .kind import MalformedError, UnstorableError, all_exactly, exactly, expect, listed, simple

_ZONE_KEY: Final = re.compile(r"[A-Za-z0-9_+-]{1,40}(/[A-Za-z0-9_+-]{1,40}){0,3}", re.ASCII)


def datetime_row(value: dt.datetime) -> list[Any]:
    """Nine fields: year to microsecond, fold, zone."""
    if type(value) is not dt.datetime:
        return [get(value) for get in _DATETIME]
    return [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.fold, value.tzinfo]


def _getters(cls: type, *names: str) -> list[Callable[[Any], Any]]:
    """Of the builtin class's own fields, which a subclass may have put properties before."""
    return [vars(next(base for base in cls.__mro__ if name in vars(base)))[name].__get__ for name in names]


_CLOCK: Final = ("hour", "minute", "second", "microsecond", "fold", "tzinfo")
_DATETIME: Final = _getters(dt.datetime, "year", "month", "day", *_CLOCK)
_TIME: Final = _getters(dt.time, *_CLOCK)
_DATE: Final = _getters(dt.date, "year", "month", "day")
_DELTA: Final = _getters(dt.timedelta, "days", "seconds", "microseconds")


def datetime_from(cls: type[dt.datetime], row: list[Any]) -> dt.datetime:
    """The datetime of those fields, made by the base class even for a subclass."""
    *fields, zone = expect(listed(row), 9)
    year, month, day, hour, minute, second, microsecond, fold = all_exactly(int, fields)
    return dt.datetime.__new__(cls, year, month, day, hour, minute, second, microsecond, _zone(zone), fold=fold)


def time_row(value: dt.time) -> list[Any]:
    """Six fields: hour to microsecond, fold, zone."""
    return [get(value) for get in _TIME]


def time_from(cls: type[dt.time], row: list[Any]) -> dt.time:
    """The time of those fields."""
    *fields, zone = expect(listed(row), 6)
    hour, minute, second, microsecond, fold = all_exactly(int, fields)
    return dt.time.__new__(cls, hour, minute, second, microsecond, _zone(zone), fold=fold)


def date_row(value: dt.date) -> list[int]:
    """Year, month, day."""
    return [get(value) for get in _DATE]


def delta_row(value: dt.timedelta) -> list[int]:
    """Days, seconds, microseconds."""
    return [get(value) for get in _DELTA]


def _zone(value: Any) -> Any:
    if value is not None and not isinstance(value, dt.tzinfo):
        raise MalformedError
    return value


def _timezone_row(value: dt.timezone) -> list[Any]:
    args = value.__getinitargs__()  # type: ignore[attr-defined]  # CPython has it for pickle; it tells a given name from a made one
    name = args[1] if len(args) > 1 else None
    if type(name) not in (str, type(None)):
        raise UnstorableError("its name is of a subclass of str; give it str(name)", value)
    return [*delta_row(args[0]), name]


def _timezone(row: list[Any]) -> dt.timezone:
    *offset, name = expect(listed(row), 4)
    delta = dt.timedelta(*all_exactly(int, offset))
    return dt.timezone(delta) if name is None else dt.timezone(delta, exactly(str, name))


def _zone_key(value: ZoneInfo) -> str:
    if value.key is None or _ZONE_KEY.fullmatch(value.key) is None:
        raise UnstorableError("it is a time zone without a key, made from a file; use ZoneInfo(key)", value)
    return str.__str__(value.key)  # of a subclass, if somebody asked so for the zone first: ZoneInfo keeps one object for all equal keys


def _zone_info(key: Any) -> ZoneInfo:
    if type(key) is not str or _ZONE_KEY.fullmatch(key) is None:
        raise MalformedError
    return ZoneInfo(key)


DATETIME: Final = simple(19, datetime_row, lambda row: datetime_from(dt.datetime, row))
DATE: Final = simple(20, date_row, lambda row: dt.date(*all_exactly(int, row, 3)))
TIME: Final = simple(21, time_row, lambda row: time_from(dt.time, row))
TIMEDELTA: Final = simple(22, delta_row, lambda row: dt.timedelta(*all_exactly(int, row, 3)))
TIMEZONE: Final = simple(23, _timezone_row, _timezone)
ZONEINFO: Final = simple(24, _zone_key, _zone_info)

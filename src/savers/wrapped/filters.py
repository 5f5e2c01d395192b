"""Whether metadata matches a filter, by the inner saver's own rule; it reads no store.

Sealed metadata cannot be filtered by a database, so it is filtered here, after opening. The rules differ between savers, and so do their
answers.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Mapping
from typing import Any

Filter = Mapping[str, Any]
Matcher = Callable[[Mapping[str, Any]], bool]
Rule = Callable[[Filter], Matcher]


def equality(wanted: Filter) -> Matcher:
    """Every value equals: InMemorySaver's rule, and the one for savers that are not known here."""
    return lambda metadata: all(value == metadata.get(key) for key, value in wanted.items())


def containment(wanted: Filter) -> Matcher:
    """PostgreSQL's ``metadata @> wanted`` (documentation of PostgreSQL 18, section 8.14.3)."""
    target = as_json(wanted)
    return lambda metadata: _contains(as_json(metadata), target)


def sqlite_json_extract(wanted: Filter) -> Matcher:
    """SqliteSaver's rule, decided by SqliteSaver's own predicate on a database in memory.

    Raises:
        ValueError: a key has characters that SqliteSaver refuses.
    """
    from langgraph.checkpoint.sqlite.utils import search_where

    where, parameters = search_where(None, dict(wanted))
    # Not one row is stored; the connection may be used from one worker thread after another, never by two at once.
    database = sqlite3.connect(":memory:", check_same_thread=False)
    query = f"SELECT 1 FROM (SELECT ? AS metadata) {where}"  # noqa: S608  # search_where checks the keys, values are parameters

    def matches(metadata: Mapping[str, Any]) -> bool:
        stored = json.dumps(metadata, ensure_ascii=False, default=str).encode("utf-8", "ignore")
        return database.execute(query, (stored, *parameters)).fetchone() is not None

    weakref.finalize(matches, database.close)  # nobody else sees when the last listing is done with it
    return matches


def as_json(value: Any) -> Any:
    """`value` as it comes back from a JSON column: tuples are lists, keys are text, what JSON has no form for is text."""
    if value is None or type(value) in (str, int, bool):
        return value
    return json.loads(json.dumps(value, default=str))


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same once both have been through JSON; what cannot go through it equals nothing."""
    try:
        return bool(one == other) or bool(as_json(one) == as_json(other))
    except (TypeError, ValueError, RecursionError):
        return False


def survives(value: Any) -> bool:
    """Whether every store gives a value in JSON's types back as it is.

    Some drop lone surrogates, have no NUL or no NaN, or write a float out as a whole number, which from 2**53 on may be another one.
    """
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return abs(value) < 2**53  # false of NaN
    if isinstance(value, dict):
        return all(survives(key) and survives(item) for key, item in value.items())
    return not isinstance(value, list) or all(map(survives, value))


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(key in value and _contains(value[key], item) for key, item in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(_contains(element, item) for element in value) for item in wanted)
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    return not isinstance(value, (dict, list)) and bool(value == wanted)

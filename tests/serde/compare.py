"""Equality for tests: the corpus' comparison, with pandas indexes and arrays added; and the classes that the values are made of."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from sealpoint.serde import JsonPlus
from tests.corpus import values as corpus
from tests.serde import extra


def differences(before: Any, after: Any) -> list[str]:
    """What differs in type or value; empty when nothing does."""
    if isinstance(before, pd.Index):
        if type(before) is not type(after):
            return [f"{type(before)} -> {type(after)}"]
        pd.testing.assert_index_equal(before, after, exact=True)
        return [] if getattr(before, "freq", None) == getattr(after, "freq", None) else ["freq"]
    if isinstance(before, pd.api.extensions.ExtensionArray):
        pd.testing.assert_extension_array_equal(before, after)
        return []
    if isinstance(before, np.ndarray) and before.flags.writeable != after.flags.writeable:
        return ["writeable"]
    if isinstance(before, np.ndarray) and before.flags.f_contiguous and not after.flags.f_contiguous:
        return ["order"]
    return [found for found in corpus.diff(before, after) if not found.startswith("~")]


def classes_of(*modules: str) -> list[type]:
    """Every class defined in the modules, nested ones included."""
    found: list[type] = []

    def collect(scope: dict[str, Any], module: str) -> None:
        for value in list(scope.values()):
            if isinstance(value, type) and value.__module__ == module and value not in found:
                found.append(value)
                collect(dict(vars(value)), module)

    for module in modules:
        collect(vars(sys.modules[module]), module)
    return found


ALLOWED: list[Any] = [*classes_of(corpus.__name__, extra.__name__), (corpus._VANISH, "Gone"), ("langgraph.types", "StateSnapshot")]


def bare(**options: Any) -> JsonPlus:
    """A serializer on its own, whose payloads nothing vouches for, with the test's classes allowed."""
    return JsonPlus(allowed_types=ALLOWED, **options)

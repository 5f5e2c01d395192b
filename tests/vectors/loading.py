"""Reads the vectors for the tests: the files, a test for each vector, places from JSON; unlike its neighbours it knows the package."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealpoint import Context, errors
from sealpoint.ciphers import KeyReference, SecretKey
from sealpoint.context import Form
from sealpoint.keys import BlockingKeySource

from . import fixtures
from . import reference as ref

FOLDER = Path(__file__).parent
FILES = {path.stem: json.loads(path.read_text(encoding="ascii")) for path in sorted(FOLDER.glob("*.json")) if path.stem != "schema"}
Vector = dict[str, Any]


def every(kind: str, having: str = "name") -> pytest.MarkDecorator:
    """Runs a test once for every vector of a file that has the field."""
    vectors = [vector for vector in FILES[kind]["vectors"] if having in vector]
    return pytest.mark.parametrize("vector", vectors, ids=[vector["name"] for vector in vectors])


def answer(opening: Callable[[], Vector]) -> Vector:
    """What came out, in the terms of `expect`: a refusal by the name of its class, from either implementation."""
    try:
        return opening()
    except ref.RefusedError as exc:
        return {"error": exc.error}
    except errors.SealpointError as exc:
        return {"error": type(exc).__name__}


def text_of(shown: Any) -> Any:
    return "".join(map(chr, shown["code_points"])) if isinstance(shown, dict) and "code_points" in shown else shown


def version_of(shown: dict[str, Any]) -> Any:
    (kind, value), *_ = shown.items()
    if kind == "float":
        return struct.unpack(">d", bytes.fromhex(value))[0]
    read: dict[str, Callable[[Any], Any]] = {"int": int, "bytes": bytes.fromhex}
    return read.get(kind, text_of)(value)


def place_of(shown: Vector) -> ref.Place:
    return {name: version_of(value) if name == "version" else text_of(value) for name, value in shown.items()}


def context_of(shown: Vector, form: int = Form.WRAPPED_SAVER) -> Context:
    place: dict[str, Any] = place_of(shown)
    kind, scope = place["kind"], place["scope"]
    if kind == "unbound":
        return Context.unbound(scope, form=Form(form))
    fields = [place[name] for name in ref.FIELDS[kind]]
    make: dict[str, Callable[..., Context]] = {
        "checkpoint": Context.checkpoint,
        "channel value": Context.channel_value,
        "delta snapshot": Context.delta_snapshot,
        "write": Context.write,
    }
    return make[kind](scope, *fields, form=Form(form))


class FakeKeys(BlockingKeySource):
    """The keys of a vector: by id, or by root and wrapped key."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self._resolve = fixtures.resolver(entries)

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        raise errors.UnknownKeyError("these keys only open")

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        roots = tuple((entry.root, entry.wrapped) for entry in reference.wrapped)
        material = self._resolve(ref.Header(int(reference.kind), reference.key_id, b"", roots))
        if material is None:
            raise errors.UnknownKeyError(f"no key for {reference.key_id}")
        return SecretKey(material)

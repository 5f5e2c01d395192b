"""The format msgpack1: a second reader written from the specification, the marker, and buffers that stand outside the documents."""

from __future__ import annotations

import struct
import threading
import time
from typing import Any

import numpy as np
import ormsgpack
import pytest

from sealpoint.errors import DecodeError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec import frame
from sealpoint.serde.codec.kind import BufferSource
from sealpoint.serde.codec.scan import LARGE
from tests.corpus.values import Plain


def parsed(data: bytes) -> tuple[bytes, list[bytes], list[bytes]]:
    """Marker, documents and buffers, read as docs/spec/msgpack1.md says, without the package."""
    version, marker, documents, buffers = struct.unpack(">B8sHI", data[:15])
    assert version == 1
    sizes = struct.unpack(f">{documents + buffers}Q", data[15 : 15 + 8 * (documents + buffers)])
    rest, parts = data[15 + 8 * len(sizes) :], []
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    assert rest == b""
    return marker, parts[:documents], parts[documents:]


def read(data: bytes) -> Any:
    """A second reader, for tuples, sets, dicts with other keys, dataclasses and bytes."""
    marker, documents, buffers = parsed(data)

    def unpack(document: bytes, objects: list[Any]) -> Any:
        following = iter(objects)

        def reference(code: int, raw: bytes) -> Any:
            assert (code, raw) == (1, marker)
            return next(following)

        return ormsgpack.unpackb(document, ext_hook=reference)

    def build(code: int, *columns: Any) -> list[Any]:
        if code == 1:
            return [tuple(row) for row in columns[0]]
        if code == 2:
            return [dict(zip(row[::2], row[1::2], strict=True)) for row in columns[0]]
        if code == 3:
            return [set(row) for row in columns[0]]
        if code == 6:
            return [(bytearray if mutable else bytes)(raw if isinstance(raw, bytes) else buffers[raw]) for mutable, raw in columns[0]]
        assert code == 40
        return [(columns[0], state) for state in columns[2]]

    objects: list[Any] = []
    for document in reversed(documents[1:]):
        order, groups, references = unpack(document, objects)
        made = [iter(build(*group)) for group in groups]
        objects = [next(made[place]) for place in order] if order is not None else list(made[0])
        objects = objects if references is None else [objects[number] for number in references]
    return unpack(documents[0], objects)


def test_a_second_reader_reads_what_is_written() -> None:
    value = {"a": [1, (2, {3})], "b": {1: "x", (1,): b"y" * LARGE}, "c": bytearray(b"z"), "d": (1, (2,))}
    assert read(JsonPlus().dumps_typed(value)[1]) == value
    (name, state), same = read(JsonPlus().dumps_typed([Plain(1, (2,))] * 2)[1])
    assert (name, state, same) == ([Plain.__module__, "Plain"], {"a": 1, "b": (2,)}, (name, state))


def test_a_plain_value_is_one_document_of_plain_msgpack() -> None:
    marker, (document,), buffers = parsed(JsonPlus().dumps_typed({"a": [1, 2.5, None, True, "é", b"x"]})[1])
    assert (marker, buffers) == (bytes(8), [])
    assert ormsgpack.unpackb(document) == {"a": [1, 2.5, None, True, "é", b"x"]}


def test_the_marker_differs_in_every_message_and_stands_in_every_reference() -> None:
    messages = [JsonPlus().dumps_typed([(1,), (2,)])[1] for _ in range(2)]
    (first, documents, _), (second, _, _) = map(parsed, messages)
    assert first != second
    assert documents[0].count(b"\xd7\x01" + first) == 2


@pytest.mark.parametrize(
    "value",
    [bytes(LARGE), bytearray(LARGE), np.ones(LARGE // 8), {"deep": [{"x": bytes(LARGE)}]}, (bytes(LARGE),), Plain(1, bytes(LARGE))],
)
def test_large_runs_of_bytes_stand_outside_the_documents(value: Any) -> None:
    _, documents, buffers = parsed(JsonPlus().dumps_typed(value)[1])
    assert [len(buffer) for buffer in buffers] == [LARGE]
    assert sum(map(len, documents)) < 400


def test_smaller_ones_stand_inside() -> None:
    _, _, buffers = parsed(JsonPlus().dumps_typed([bytes(LARGE - 1), np.ones(10)])[1])
    assert buffers == []


@pytest.mark.parametrize("cut", [0, 1, 14, 15, 22, 30])
def test_a_message_that_was_cut_is_refused(cut: int) -> None:
    data = JsonPlus().dumps_typed({"a": (1,)})[1]
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(("msgpack1", data[:cut]))


def test_every_byte_of_the_frame_matters() -> None:
    data = JsonPlus().dumps_typed({"a": (1,)})[1]
    for at in range(15 + 16):
        changed = bytearray(data)
        changed[at] ^= 0x55
        with pytest.raises(DecodeError):
            JsonPlus().loads_typed(("msgpack1", bytes(changed)))


def test_parse_undoes_marshal() -> None:
    sources = [BufferSource(3, lambda room: frame.copy_into(room, memoryview(b"abc")))]
    marker, documents, buffers = frame.parse(frame.marshal(b"12345678", [b"\x01", b"\x02\x03"], sources))
    assert (marker, list(map(bytes, documents)), list(map(bytes, buffers))) == (b"12345678", [b"\x01", b"\x02\x03"], [b"abc"])


def test_a_fork_does_not_repeat_markers() -> None:
    frame.fresh_marker()
    assert frame._markers
    frame._forget_markers()
    assert not frame._markers


@pytest.mark.parametrize("value", [np.zeros(8_000_000, "f4"), bytes(32_000_000)])
def test_other_threads_run_while_large_values_are_copied(value: Any) -> None:
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        tag, data = JsonPlus().dumps_typed({"v": value})
        before = turns
        JsonPlus().loads_typed((tag, data))
    finally:
        done.set()
        thread.join()
    assert turns > before > 0

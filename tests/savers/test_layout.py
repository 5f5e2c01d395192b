"""Keys are those that the vectors name, UUIDv6 and ULID are one number, and every string has a place of its own that leads back to it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from sealpoint.ciphers import SecretKey
from sealpoint.context import Kind
from sealpoint.errors import ConfigurationError, DecodeError, SealpointError
from sealpoint.savers.objects import format as fmt
from sealpoint.savers.objects import layout, ulid
from sealpoint.savers.objects.layout import Layout, Place, ThreadHash
from sealpoint.serde import Packed
from sealpoint.stores.base import check_key
from tests.savers.vectors.generate import generated

FOLDER = Path(__file__).parent / "vectors"
VECTORS = json.loads((FOLDER / "layout.json").read_text(encoding="ascii"))
texts = st.text(st.characters(exclude_categories=()), max_size=300)  # lone surrogates too


# --- vectors ----------------------------------------------------------------------------------------------------------


def test_the_file_is_what_the_generator_writes_without_the_package() -> None:
    assert (FOLDER / "layout.json").read_text(encoding="ascii") == generated()
    code = "import sys; sys.modules['sealpoint'] = None; import tests.savers.vectors.generate as g; print(len(g.generated()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parents[2], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 5000


def test_threads_and_namespaces_are_named_as_the_vectors_say() -> None:
    for vector in VECTORS["threads"]:
        assert Layout().thread_folder(vector["id"]) == vector["segment"] + "/"
        readable = vector["segment"].startswith("t-")
        assert layout.name_of(vector["segment"]) == (vector["id"] if readable else None)
    for vector in VECTORS["namespaces"]:
        assert Layout().folder(Place("t", vector["id"])) == f"t-t/{vector['segment']}/"
    for vector in VECTORS["hashed_threads"]:
        hasher = ThreadHash(vector["key_id"], SecretKey(bytes.fromhex(vector["key"])), vector["scope"])
        assert Layout(hasher).thread_folder(vector["id"]) == vector["segment"] + "/"


def test_checkpoints_sort_as_the_vectors_say() -> None:
    for vector in VECTORS["checkpoints"]:
        assert layout.sort_of(vector["id"]) == vector["sort"]
        assert layout.id_of(vector["sort"]) == (vector["id"] if vector["readable"] else None)
        assert layout.is_hashed(vector["sort"]) is not vector["readable"]
    for order in VECTORS["order"]:
        assert sorted(order, key=layout.sort_of) == order


def test_what_is_no_name_is_recognised() -> None:
    for vector in VECTORS["not_segments"]:
        assert layout.name_of(vector["segment"]) is None, vector["why"]
    for vector in VECTORS["not_names"]:
        assert layout.parse_entry(vector["name"]) is None, vector["why"]


# --- UUIDv6 and ULID ----------------------------------------------------------------------------------------------------


def test_a_ulid_is_what_a_ulid_library_says() -> None:
    library = pytest.importorskip("ulid", reason="python-ulid is not installed (requirements/test.txt)")
    for _ in range(200):
        text = str(uuid6())
        value = ulid.from_uuid6(text)
        assert value is not None
        theirs = library.ULID.from_bytes(value.to_bytes(16, "big"))
        assert str(theirs).lower() == ulid.encode(value)
        assert abs(theirs.timestamp * 1000 - ulid.milliseconds(value)) < 1
        assert int(library.ULID.from_str(ulid.encode(value).upper())) == value


def test_uuids_come_back_and_keep_their_order() -> None:
    rng = random.Random(1)  # noqa: S311 - many, not secret
    made = []
    for _ in range(20_000):
        ticks = rng.randrange(0x01B21DD213814000, 1 << 60)
        number = (ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64 | 2 << 62 | rng.getrandbits(62)
        made.append(str(uuid.UUID(int=number)))
    numbers = [ulid.from_uuid6(text) for text in made]
    assert [ulid.to_uuid6(number) for number in numbers if number is not None] == made
    assert sorted(made) == [text for _, text in sorted(zip(numbers, made, strict=True), key=lambda pair: pair[0] or 0)]
    assert sorted(made, reverse=True) == sorted(made, key=layout.sort_of)


@given(st.integers(0, ulid.MAX))
def test_text_and_number_are_one(number: int) -> None:
    assert ulid.decode(ulid.encode(number)) == number
    back = ulid.to_uuid6(number)
    assert back is None or ulid.from_uuid6(back) == number


@pytest.mark.parametrize("text", ["", "0" * 25, "8" + "0" * 25, "0" * 25 + "u", "0" * 25 + "A", "0" * 27])
def test_what_is_no_ulid_is_refused(text: str) -> None:
    assert ulid.decode(text) is None


# --- any string ---------------------------------------------------------------------------------------------------------


@given(texts, texts, st.text(st.characters(exclude_categories=()), min_size=1, max_size=200))
def test_every_string_makes_keys_that_every_store_takes(thread: str, namespace: str, checkpoint_id: str) -> None:
    place = Place(thread, namespace)
    for key in (
        Layout().checkpoint(place, checkpoint_id),
        Layout().writes(place, checkpoint_id, "0" * 26),
        Layout().value(place, checkpoint_id, "0" * layout.NONCE_LENGTH),
    ):
        check_key(key)
        assert len(key) <= 800
        assert key == key.lower()
        assert max(map(len, key.split("/"))) <= 255
    sort = layout.sort_of(checkpoint_id)
    assert layout.id_of(sort) in (checkpoint_id, None)
    assert layout.is_hashed(sort) == (layout.id_of(sort) is None)
    assert layout.parse_entry(f"{sort}.c") == layout.Entry(sort)


@given(texts, texts)
def test_different_threads_have_different_prefixes_of_which_none_starts_another(one: str, other: str) -> None:
    first, second = Layout().thread_folder(one), Layout().thread_folder(other)
    assert (first == second) == (one == other)
    assert one == other or not first.startswith(second)


@given(st.lists(st.text(min_size=1, max_size=30), unique=True, max_size=20))
def test_ids_of_other_forms_sort_greatest_first(found: list[str]) -> None:
    assert sorted(found, key=layout.sort_of) == sorted(found, reverse=True)
    for text in found:
        older = {other for other in found if other < text}
        assert {other for other in found if layout.sort_of(other) + ".c" > layout.older_than(text)} == older


def test_an_empty_checkpoint_id_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="never empty"):
        layout.sort_of("")


# --- formats ------------------------------------------------------------------------------------------------------------

packed = st.builds(Packed, st.text(max_size=5), st.binary(max_size=20))
versions = st.one_of(st.integers(), st.floats(allow_nan=False), texts)
kinds = st.sampled_from([Kind.CHANNEL_VALUE, Kind.DELTA_SNAPSHOT])


@st.composite
def values(draw: st.DrawFn) -> fmt.Value:
    kind = draw(kinds)
    reference = st.builds(fmt.Reference, st.just(kind), versions, texts, texts)
    return fmt.Value(draw(texts), kind, draw(st.one_of(packed, reference)))


@given(st.builds(fmt.CheckpointRecord, packed, packed, st.none() | texts, st.lists(values(), max_size=4).map(tuple), st.none() | texts))
def test_checkpoints_come_back(record: fmt.CheckpointRecord) -> None:
    data = fmt.marshal_checkpoint(record)
    assert fmt.parse_checkpoint(Packed(fmt.CHECKPOINT_TAG, data)) == record


writes = st.builds(fmt.Write, st.integers(-4, 1000), texts, packed)


@given(st.builds(fmt.WritesRecord, texts, texts, st.lists(writes, max_size=4).map(tuple)))
def test_writes_come_back(record: fmt.WritesRecord) -> None:
    assert fmt.parse_writes(Packed(fmt.WRITES_TAG, fmt.marshal_writes(record))) == record


@given(st.builds(fmt.Names, texts, texts, texts))
def test_names_come_back(names: fmt.Names) -> None:
    assert fmt.parse_names(Packed(fmt.NAMES_TAG, fmt.marshal_names(names))) == names


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_frames_come_back(cell: bytes, names: bytes) -> None:
    frame = fmt.Frame(cell, names)
    assert fmt.parse_frame(frame.marshal()) == frame


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_by_an_error_of_ours(data: bytes) -> None:
    for parse, tag in ((fmt.parse_checkpoint, fmt.CHECKPOINT_TAG), (fmt.parse_writes, fmt.WRITES_TAG), (fmt.parse_names, fmt.NAMES_TAG)):
        for given_tag in (tag, "msgpack1"):
            try:
                parse(Packed(given_tag, data))
            except SealpointError as exc:
                assert isinstance(exc, DecodeError)  # noqa: PT017 - reading may also succeed
    try:
        fmt.parse_frame(data)
    except DecodeError:
        return
    assert data.startswith(fmt.MAGIC)


def test_a_newer_format_is_refused_by_its_version() -> None:
    data = bytearray(fmt.Frame(b"cell").marshal())
    data[4] = 2
    with pytest.raises(DecodeError, match="version 2"):
        fmt.parse_frame(bytes(data))


@pytest.mark.parametrize("links", [[], [[0, b"t", b"d"], [0, b"t", b"d"]], [[2, b"x"]], [[1, b"q1", b"o", b"n"]], [[0, b"t"]]])
def test_links_of_a_newer_format_are_refused(links: list[object]) -> None:
    import ormsgpack

    data = ormsgpack.packb([[b"t", b"d"], [b"t", b"d"], None, [[b"ch", 2, links]], None])
    with pytest.raises(DecodeError):
        fmt.parse_checkpoint(Packed(fmt.CHECKPOINT_TAG, data))

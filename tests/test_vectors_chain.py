"""What stands around the envelope gives the answer that every vector names: tags, cells, compressed frames, old cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from Crypto.Cipher import AES

from sealpoint import AesGcm, Context, Keyring, LayeredSerializer, Zstd
from sealpoint.context import Form
from sealpoint.serde import LegacyReader
from sealpoint.serde.tags import unframed

from .vectors import fixtures
from .vectors import reference as ref
from .vectors.loading import Vector, answer, every


class Marker:
    """A layer that changes nothing and notes when it is undone."""

    def __init__(self, position: int, name: str, may_skip: bool, last: bool, willing: Iterable[int], undone: list[int]) -> None:
        self.name, self.may_skip, self.authenticates_tag = name, may_skip, last and not may_skip
        self._position, self._willing, self._undone = position, position in willing, undone

    def encode(self, data: bytes, tag: str, context: Context) -> bytes | None:
        return None if self.may_skip and not self._willing and not tag.endswith(f"+{self.name}") else data

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        self._undone.append(self._position)
        return data


class TagBase:
    """Gives its object as the tag, and the tag as the object."""

    def dumps_typed(self, obj: str) -> tuple[str, bytes]:
        return obj, b"data"

    def loads_typed(self, data: tuple[str, bytes]) -> str:
        return data[0]


def chain(vector: Vector, undone: list[int], willing: Iterable[int] = ()) -> LayeredSerializer:
    layers = [
        Marker(position, name, may_skip, position == len(vector["layers"]) - 1, willing, undone)
        for position, (name, may_skip) in enumerate(vector["layers"])
    ]
    return LayeredSerializer(TagBase(), *layers)


@every("tags", "open")
def test_a_tag_is_peeled_as_the_vector_says(vector: Vector) -> None:
    undone: list[int] = []
    layers = [(name, may_skip) for name, may_skip in vector["layers"]]
    assert answer(lambda: {"base": chain(vector, undone).loads_typed((vector["open"], b"data")), "undone": undone}) == vector["expect"]
    assert answer(lambda: dict(zip(("base", "undone"), ref.peel(vector["open"], layers), strict=True))) == vector["expect"]
    assert "error" not in vector["expect"] or not undone, "a layer was undone before the tag was refused"


@every("tags", "seal")
def test_a_tag_is_written_as_the_vector_says_and_peels_back(vector: Vector) -> None:
    undone: list[int] = []
    serde = chain(vector, undone, vector["willing"])
    tag, data = serde.dumps_typed(vector["seal"])
    assert {"tag": tag} == vector["expect"]
    assert serde.loads_typed((tag, data)) == vector["seal"]


@every("tags", "cell")
def test_a_cell_has_its_tag_as_the_vector_says(vector: Vector) -> None:
    plain = bytes.fromhex(vector["cell"])
    for split in (unframed, ref.split_cell):

        def parts(split: Callable[[bytes], tuple[str, bytes]] = split) -> Vector:
            tag, data = split(plain)
            return {"tag": tag, "data": data.hex()}

        assert answer(parts) == vector["expect"]


def test_the_second_implementation_opens_a_cell_of_the_package() -> None:
    serde = LayeredSerializer(TagBase(), AesGcm(Keyring({"k": fixtures.KEY}, active="k")))
    cell = serde.seal_cell("msgpack1", Context.unbound(form=Form.OBJECT))
    plain = ref.open_(cell, lambda _: fixtures.KEY, 4, "", ref.context(fixtures.UNBOUND))
    assert ref.split_cell(plain) == ("msgpack1", b"data")


@every("zstd")
def test_a_frame_opens_or_is_refused_as_the_vector_says(vector: Vector) -> None:
    layer = Zstd(max_bytes=vector["max_bytes"])
    assert answer(lambda: {"plain": layer.decode(bytes.fromhex(vector["data"]), "m", Context.unbound()).hex()}) == vector["expect"]


class PlainBase:
    """Gives back what reaches the base, and asserts that it was not vouched for."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        raise NotImplementedError

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        raise NotImplementedError

    def load(self, tag: str, data: bytes, *, authenticated: bool) -> Vector:
        assert not authenticated
        return {"tag": tag, "payload": data.hex()}


@every("legacy")
def test_an_old_cell_opens_unauthenticated_or_is_refused_as_the_vector_says(vector: Vector) -> None:
    keys = tuple(bytes.fromhex(key) for key in vector["aes_keys"])
    cell = (vector["tag"], bytes.fromhex(vector["data"]))
    layer = AesGcm(Keyring.generate())
    assert answer(lambda: LayeredSerializer(PlainBase(), layer, legacy=LegacyReader(keys)).loads_typed(cell)) == vector["expect"]
    assert answer(lambda: LayeredSerializer(PlainBase(), layer).loads_typed(cell)) == {"error": "NotSealedError"}


@every("legacy")
def test_langgraph_itself_decrypts_the_old_cells_that_open(vector: Vector) -> None:
    """So the vectors are in its format, and not in what we take it to be."""
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    if "error" in vector["expect"] or not vector["tag"].endswith("+aes"):
        return
    mode = AES.MODE_GCM if "GCM" in vector["name"] or "second" in vector["name"] else AES.MODE_EAX
    theirs = EncryptedSerializer.from_pycryptodome_aes(key=bytes.fromhex(vector["aes_keys"][-1]), mode=mode)
    assert theirs.cipher.decrypt("aes", bytes.fromhex(vector["data"])).hex() == vector["expect"]["payload"]

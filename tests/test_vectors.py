"""The package, and the second implementation beside it, give the answer that every vector names."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
import zlib
from collections import Counter

import jsonschema
import pytest

from sealpoint import AesGcm, Context, Keyring, errors
from sealpoint.ciphers import KeyKind, KeyReference, SecretKey, body, parse

from .vectors import fixtures
from .vectors import reference as ref
from .vectors.bodies import assembled
from .vectors.generate import generated
from .vectors.loading import FILES, FOLDER, FakeKeys, Vector, answer, context_of, every, place_of, text_of

# --- the files ------------------------------------------------------------------------------------------------------


def test_the_folder_is_not_empty_and_most_vectors_are_failures() -> None:
    outcomes = Counter("error" in vector["expect"] for file in FILES.values() for vector in file["vectors"])
    assert len(FILES) == 9
    assert outcomes.total() >= 500
    assert outcomes[True] > 2 * outcomes[False]


@pytest.mark.slow
def test_the_files_are_what_the_generator_writes() -> None:
    made = generated()
    assert set(made) == {f"{kind}.json" for kind in FILES if kind != "wycheproof"}
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="ascii") == text, f"run: python -m tests.vectors.generate ({name} differs)"


@pytest.mark.parametrize("kind", FILES)
def test_a_file_follows_the_schema_and_names_its_vectors_apart(kind: str) -> None:
    schema = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(FILES[kind])
    names = Counter(vector["name"] for vector in FILES[kind]["vectors"])
    assert not [name for name, count in names.items() if count > 1]


def test_the_schema_refuses_an_error_that_the_package_does_not_have() -> None:
    schema = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    named = schema["$defs"]["failure"]["properties"]["error"]["enum"]
    assert all(issubclass(getattr(errors, name), errors.SealpointError) for name in named)
    assert set(named) == {vector["expect"]["error"] for file in FILES.values() for vector in file["vectors"] if "error" in vector["expect"]}


def test_the_generator_and_the_second_implementation_do_not_import_the_package() -> None:
    code = "import sys; sys.modules['sealpoint'] = None; import tests.vectors.generate as g; print(len(g.FILES))"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parent.parent, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "8\n"


def test_the_example_in_the_specification_is_a_vector() -> None:
    page = (FOLDER.parents[1] / "docs" / "spec" / "envelope-v1.md").read_text(encoding="utf-8")
    block = page.partition("### Example")[2].split("```")[1]
    shown = {line[:21].strip(): line[21:].replace(" ", "") for line in block.splitlines() if line}
    (vector,) = [vector for vector in FILES["envelope"]["vectors"] if vector["name"] == "opens: unbound"]
    assert shown["core"] + shown["salt"] + shown["commitment"] + shown["chunk 0"] == vector["envelope"]
    assert shown["sealing key"] == ref.seal_key(fixtures.KEY).hex()
    assert shown["context bytes"] == ref.context(fixtures.UNBOUND).hex()
    assert shown["application context"] == ref.bind(1, fixtures.HEADER.core(), "msgpack1", ref.context(fixtures.UNBOUND)).hex()
    assert {fixtures.KEY.hex(), fixtures.PLAIN.hex()} <= set(page.replace("`", " ").split())


# --- places and keys ------------------------------------------------------------------------------------------------


@every("context")
def test_a_place_has_the_bytes_of_its_vector(vector: Vector) -> None:
    assert answer(lambda: {"encoded": context_of(vector["context"]).encoded.hex()}) == vector["expect"]
    if "error" not in vector["expect"]:
        assert ref.context(place_of(vector["context"])).hex() == vector["expect"]["encoded"]


def test_no_two_places_of_the_vectors_have_the_same_bytes() -> None:
    encoded = [vector["expect"]["encoded"] for vector in FILES["context"]["vectors"] if "encoded" in vector["expect"]]
    assert len(set(encoded)) == len(encoded)


@every("keys", "material")
def test_sub_keys_are_those_of_the_vector(vector: Vector) -> None:
    def derived() -> Vector:
        key = SecretKey(bytes.fromhex(vector["material"]))
        others = [
            {**entry, "key": key.derive(entry["label"].encode(), entry["length"]).hex()} for entry in vector["expect"].get("derived", [])
        ]
        return {"seal": key.reveal_seal_key().hex(), "check": key.check.hex(), "derived": others}

    assert answer(derived) == vector["expect"]


@every("keys", "environment")
@pytest.mark.filterwarnings("ignore")
def test_an_environment_gives_the_keys_of_the_vector_and_no_error_shows_a_key(vector: Vector) -> None:
    environment = vector["environment"]

    def keyring() -> Vector:
        ring = Keyring.from_env(environment)
        unbound = Context.unbound()
        return {
            "active": ring.active,
            "checks": {key_id: ring.resolve(KeyReference(KeyKind.KEYRING, key_id), unbound).check.hex() for key_id in ring.ids},
        }

    assert answer(keyring) == vector["expect"]
    if "error" in vector["expect"]:
        with pytest.raises(errors.ConfigurationError) as caught:
            Keyring.from_env(environment)
        secret = [part for text in environment.values() for part in text.replace(",", ":").split(":") if len(part) > 12]
        assert not [part for part in secret if part.strip() in str(caught.value)]


# --- headers and envelopes ------------------------------------------------------------------------------------------


@every("header")
def test_a_header_parses_as_the_vector_says_and_marshals_back(vector: Vector) -> None:
    data = bytes.fromhex(vector["data"])

    def package() -> Vector:
        header, at = parse(data)
        assert header.marshal() == data[:at]
        reference = header.reference
        return {
            "kind": int(reference.kind),
            "key_id": reference.key_id,
            "check": header.check.hex(),
            "roots": [{"root": entry.root, "wrapped": entry.wrapped.hex()} for entry in reference.wrapped],
            "core": header.core().hex(),
            "body": data[at:].hex(),
        }

    def second() -> Vector:
        header, rest = ref.parse(data)
        roots = [{"root": root, "wrapped": wrapped.hex()} for root, wrapped in header.roots]
        return {
            "kind": header.kind,
            "key_id": header.key_id,
            "check": header.check.hex(),
            "roots": roots,
            "core": header.core().hex(),
            "body": rest.hex(),
        }

    assert answer(package) == vector["expect"]
    assert answer(second) == vector["expect"]


def opened_by_both(vector: Vector, envelope: bytes) -> tuple[Vector, Vector]:
    layer, context = AesGcm(FakeKeys(vector["keys"])), context_of(vector["context"], vector["form"])
    resolve, place, tag = fixtures.resolver(vector["keys"]), ref.context(place_of(vector["context"])), text_of(vector["tag"])
    return (
        answer(lambda: {"plaintext": layer.decode(envelope, tag, context).hex()}),
        answer(lambda: {"plaintext": ref.open_(envelope, resolve, vector["form"], tag, place).hex()}),
    )


@every("envelope")
def test_an_envelope_opens_or_is_refused_as_the_vector_says(vector: Vector) -> None:
    package, second = opened_by_both(vector, bytes.fromhex(vector["envelope"]))
    assert package == vector["expect"]
    assert second == vector["expect"]


@every("envelope")
async def test_the_async_door_gives_the_same_answer(vector: Vector) -> None:
    layer, context = AesGcm(FakeKeys(vector["keys"])), context_of(vector["context"], vector["form"])
    opening = layer.adecode(bytes.fromhex(vector["envelope"]), text_of(vector["tag"]), context)
    got = (await asyncio.gather(opening, return_exceptions=True))[0]
    assert vector["expect"] == ({"plaintext": got.hex()} if isinstance(got, bytes) else {"error": type(got).__name__})


@every("large")
def test_a_large_envelope_opens_or_is_refused_as_the_vector_says(vector: Vector) -> None:
    plain, place = vector["plain"], place_of(vector["context"])
    sealed = ref.seal(
        fixtures.HEADER,
        bytes.fromhex(vector["keys"][0]["material"]),
        vector["form"],
        vector["tag"],
        ref.context(place),
        ref.stream(plain["seed"], plain["length"]),
        bytes.fromhex(vector["salt"]),
    )
    envelope = assembled(sealed, vector["pieces"])
    assert hashlib.sha256(envelope).hexdigest() == vector["envelope_sha256"]
    for got in opened_by_both(vector, envelope):
        if "error" in vector["expect"]:
            assert got == vector["expect"]
        else:
            assert hashlib.sha256(bytes.fromhex(got["plaintext"])).hexdigest() == plain["sha256"]


@every("wycheproof")
def test_the_body_agrees_with_a_third_implementation(vector: Vector) -> None:
    key, context, sealed = (
        bytes.fromhex(vector["key"]),
        bytes.fromhex(vector["context"]),
        zlib.decompress(bytes.fromhex(vector["body_zlib"])),
    )

    def digest(plain: bytes) -> Vector:
        return {"length": len(plain), "sha512": hashlib.sha512(plain).hexdigest()}

    def package() -> Vector:
        SecretKey(key)  # the one place where the length of a key is checked
        return digest(body.open_(key, context, memoryview(sealed)))

    assert answer(package) == vector["expect"]
    if len(key) == 32:
        assert answer(lambda: digest(ref.open_body(key, context, sealed))) == vector["expect"]

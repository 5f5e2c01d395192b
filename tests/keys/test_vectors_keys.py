"""The package gives the answer that every vector of docs/spec/keys-v1.md names, and the documentation's examples are what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sealpoint import errors
from sealpoint.errors import EnvelopeError, KeyRefusedError, KeyServiceUnavailableError, SealpointError
from sealpoint.keys import EnvelopeKeys, Keyring, KeyWrapper, LocalRoot, canonical
from sealpoint.keys.keyobject import Live, parse_object
from sealpoint.keys.shelf import KeyShelf
from sealpoint.stores import MemoryStore
from tests.keys.helpers import open_, seal
from tests.keys.vectors import generate
from tests.keys.wrapper_contract import WrapperContract

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(generate.FILE.read_text(encoding="ascii"))
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "keys-kms.md").read_text(encoding="utf-8")


def every(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=lambda vector: vector["name"])


def test_the_file_is_what_the_generator_writes_and_mostly_failures() -> None:
    assert generate.FILE.read_text(encoding="ascii") == generate.generated(), "run: python -m tests.keys.vectors.generate"
    failing = ["error" in vector["expect"] for vector in VECTORS["objects"]]
    assert sum(failing) > len(failing) / 2 > 15


def test_the_generator_does_not_import_the_package() -> None:
    code = "import sys; sys.modules['sealpoint'] = None; import tests.keys.vectors.generate as g; print(len(g.generated()) > 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"


@every("contexts")
def test_a_context_has_the_bytes_of_its_vector(vector: dict[str, Any]) -> None:
    assert canonical(vector["pairs"]).hex() == vector["canonical"]
    assert canonical(dict(reversed(vector["pairs"].items()))).hex() == vector["canonical"]


@every("names")
def test_a_thread_has_the_name_of_its_vector(vector: dict[str, Any]) -> None:
    ring = Keyring({"threads": bytes.fromhex(vector["material"])}, active="threads") if vector["material"] else None
    assert KeyShelf(MemoryStore(), "p", ring).thread(vector["scope"], vector["thread"]).name == vector["expect"]


@every("stored names")
def test_a_stored_thread_has_the_name_of_its_vector(vector: dict[str, Any]) -> None:
    ring = Keyring({"threads": bytes.fromhex(vector["material"])}, active="threads") if vector["material"] else None
    shelf = KeyShelf(MemoryStore(), "p", ring)
    assert shelf.stored_thread(vector["scope"], vector["stored"]).name == vector["expect"]
    assert shelf.thread(vector["scope"], vector["stored"]).name != vector["expect"]


@every("objects")
def test_a_key_object_says_what_its_vector_says(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["data"])
    if "error" in vector["expect"]:
        with pytest.raises(EnvelopeError):
            parse_object(data)
        return
    found = parse_object(data)
    assert found.marshal() == data
    said = {
        "state": "live" if isinstance(found, Live) else "ended",
        "generation": found.generation,
        "scope": found.scope,
        "key_id": found.key_id,
        "roots": [entry.root for entry in found.wrapped] if isinstance(found, Live) else list(found.roots),
    }
    assert said == vector["expect"]


@every("local")
def test_a_local_root_answers_as_its_vector_says(vector: dict[str, Any]) -> None:
    root = LocalRoot(Keyring({"master": bytes.fromhex(vector["master"])}, active="master"))
    wrapped = bytes.fromhex(vector["wrapped"])
    if "error" in vector["expect"]:
        with pytest.raises(SealpointError) as caught:
            root.unwrap(wrapped, vector["pairs"])
        assert type(caught.value) is getattr(errors, vector["expect"]["error"])
    else:
        assert root.unwrap(wrapped, vector["pairs"]).hex() == vector["expect"]["key"]


# --- the documentation --------------------------------------------------------------------------------------------


def test_every_policy_in_the_documentation_is_json_and_names_no_more_than_its_role_needs() -> None:
    policies = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    allowed = [statement["Action"] for policy in policies for statement in policy["Statement"]]
    assert allowed == [["kms:GenerateDataKey", "kms:Decrypt"], "kms:GenerateDataKey", "kms:Decrypt"]


class _GoogleClient:
    """Cloud KMS as far as the example goes: AES-GCM under a key for each name, and the service's errors."""

    keys: Mapping[str, AESGCM]

    def __init__(self, invalid: type[Exception]) -> None:
        self.keys = {name: AESGCM(AESGCM.generate_key(256)) for name in ("one", "two")}
        self._invalid = invalid

    def encrypt(self, request: dict[str, Any]) -> Any:
        nonce = AESGCM.generate_key(128)[:12]
        sealed = self.keys[request["name"]].encrypt(nonce, request["plaintext"], request["additional_authenticated_data"])
        return types.SimpleNamespace(ciphertext=nonce + sealed)

    def decrypt(self, request: dict[str, Any]) -> Any:
        nonce, sealed = request["ciphertext"][:12], request["ciphertext"][12:]
        try:
            return types.SimpleNamespace(
                plaintext=self.keys[request["name"]].decrypt(nonce, sealed, request["additional_authenticated_data"])
            )
        except (InvalidTag, ValueError):
            raise self._invalid from None


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """The class in the documentation, run as it stands there, and the modules it imports, in small."""
    exceptions = types.ModuleType("google.api_core.exceptions")
    exceptions.GoogleAPICallError = type("GoogleAPICallError", (Exception,), {})  # type: ignore[attr-defined]  # a module made here
    for name in ("InvalidArgument", "ServerError", "TooManyRequests", "Forbidden"):
        setattr(exceptions, name, type(name, (exceptions.GoogleAPICallError,), {}))
    exceptions.RetryError = type("RetryError", (Exception,), {})  # type: ignore[attr-defined]  # as above
    kms = types.ModuleType("google.cloud.kms")
    kms.KeyManagementServiceClient = _GoogleClient  # type: ignore[attr-defined]  # as above
    for name, module in {
        "google": types.ModuleType("google"),
        "google.api_core": types.ModuleType("google.api_core"),
        "google.api_core.exceptions": exceptions,
        "google.cloud": types.ModuleType("google.cloud"),
        "google.cloud.kms": kms,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys.modules["google.api_core"], "exceptions", exceptions, raising=False)
    monkeypatch.setattr(sys.modules["google.cloud"], "kms", kms, raising=False)
    source = PAGE.partition("<!-- example: google -->\n```python\n")[2].partition("```")[0]
    room: dict[str, Any] = {}
    exec(compile(source, "docs/keys-kms.md", "exec"), room)  # noqa: S102  # the example itself is what is tested
    return room["GoogleRoot"], exceptions


class TestTheExampleInTheDocumentation(WrapperContract):
    @pytest.fixture
    def client(self, google: tuple[Any, Any]) -> _GoogleClient:
        return _GoogleClient(google[1].InvalidArgument)

    @pytest.fixture
    def wrapper(self, google: tuple[Any, Any], client: _GoogleClient) -> KeyWrapper:
        root: KeyWrapper = google[0]("one", client)
        return root

    @pytest.fixture
    def other(self, google: tuple[Any, Any], client: _GoogleClient) -> KeyWrapper:
        root: KeyWrapper = google[0]("two", client)
        return root

    def test_it_serves_as_a_root(self, wrapper: KeyWrapper) -> None:
        assert open_(EnvelopeKeys(wrapper), seal(EnvelopeKeys(wrapper))) == b"secret"

    @pytest.mark.parametrize(
        ("raised", "expected"),
        [("ServerError", KeyServiceUnavailableError), ("RetryError", KeyServiceUnavailableError), ("Forbidden", KeyRefusedError)],
    )
    def test_it_raises_the_errors_of_the_seam(
        self,
        google: tuple[Any, Any],
        wrapper: KeyWrapper,
        client: _GoogleClient,
        monkeypatch: pytest.MonkeyPatch,
        raised: str,
        expected: type[SealpointError],
    ) -> None:
        def fail(request: object) -> None:
            raise getattr(google[1], raised)

        monkeypatch.setattr(client, "encrypt", fail)
        with pytest.raises(expected):
            wrapper.wrap(b"k" * 32, {})

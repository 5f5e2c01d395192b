"""Migration mode, on bytes that LangGraph itself writes: they open unauthenticated and are counted; with the mode off they are refused."""

import datetime
import logging
import pickle
import subprocess
import sys

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint import UNENCRYPTED, Keyring, sealed_serializer
from sealpoint.errors import AuthenticationError, MissingExtraError, NoKeyError, NotSealedError, TagError, ValueNotStorableError
from sealpoint.serde import LegacyReader

AES = pytest.importorskip("Crypto.Cipher.AES", reason="pycryptodome, which wrote the old cells, is not installed (extra: legacy)")
KEY = "k" * 32
VALUES = {
    "null": None,
    "bytes": b"raw",
    "bytearray": bytearray(b"raw"),
    "msgpack": {"m": [HumanMessage("hello", id="1")], "at": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)},
}
RING = Keyring.generate()


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY)


def cells(serde):
    return {tag: serde.dumps_typed(value) for tag, value in VALUES.items()}


@pytest.mark.parametrize("kind", VALUES)
def test_plain_cells_open_only_in_migration_mode(kind):
    cell = cells(JsonPlusSerializer())[kind]
    assert cell[0] == kind
    with pytest.raises(NotSealedError, match="migrate=True"):
        sealed_serializer(RING).loads_typed(cell)
    serde = sealed_serializer(RING, migrate=True)
    back = serde.loads_typed(cell)
    assert back == VALUES[kind]
    assert type(back) is type(VALUES[kind])
    assert serde.stats()["legacy"] == {kind: 1}
    assert serde.stats()["open"] == {}


@pytest.mark.parametrize("mode", ["MODE_EAX", "MODE_GCM"])
@pytest.mark.parametrize("kind", VALUES)
def test_encrypted_cells_open_in_both_modes(kind, mode, environment):
    cell = cells(EncryptedSerializer.from_pycryptodome_aes(mode=getattr(AES, mode)))[kind]
    assert cell[0] == f"{kind}+aes"
    with pytest.raises(NotSealedError, match="migrate=True"):
        sealed_serializer(RING).loads_typed(cell)
    serde = sealed_serializer(RING, migrate=True)
    assert serde.loads_typed(cell) == VALUES[kind]
    assert serde.stats()["legacy"] == {f"{kind}+aes": 1}


def test_json_cells_open(environment):
    payload = b'{"when": "2024", "n": [1, 2.5, null]}'
    expected = {"when": "2024", "n": [1, 2.5, None]}
    serde = sealed_serializer(RING, migrate=True)
    _, sealed = EncryptedSerializer.from_pycryptodome_aes().cipher.encrypt(payload)
    assert serde.loads_typed(("json", payload)) == serde.loads_typed(("json+aes", sealed)) == expected


def test_fallback_and_legacy_keys_open_older_cells(monkeypatch):
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "n" * 32)
    monkeypatch.setenv("LANGGRAPH_AES_FALLBACK_KEYS", f"{'f' * 24},{'g' * 16}")
    monkeypatch.setenv("LANGGRAPH_AES_LEGACY_KEY", KEY)
    serde = sealed_serializer(RING, migrate=True)
    for key in ("n" * 32, "f" * 24, "g" * 16, KEY):
        assert serde.loads_typed(EncryptedSerializer.from_pycryptodome_aes(key=key.encode()).dumps_typed("v")) == "v"


def test_cells_of_other_keys_or_damaged_ones_are_refused(environment):
    serde = sealed_serializer(RING, migrate=True)
    tag, data = EncryptedSerializer.from_pycryptodome_aes(key=b"x" * 32).dumps_typed("v")
    for bad in (data, data[:31], b"", b"\x00" * 40):
        with pytest.raises(AuthenticationError):
            serde.loads_typed((tag, bad))
    assert serde.stats()["legacy"] == {}


def test_encrypted_cells_without_a_key_say_which_variable(monkeypatch):
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    cell = EncryptedSerializer.from_pycryptodome_aes(key=KEY.encode()).dumps_typed("v")
    with pytest.raises(NoKeyError, match="LANGGRAPH_AES_KEY"):
        sealed_serializer(RING, migrate=True).loads_typed(cell)


@pytest.mark.parametrize("tag", ["pickle", "pickle+aes"])
def test_pickle_never_opens_online(tag, environment):
    ran = []

    class Payload:
        def __reduce__(self):
            return ran.append, (1,)

    data = pickle.dumps(Payload())
    if tag.endswith("+aes"):
        _, data = EncryptedSerializer.from_pycryptodome_aes().cipher.encrypt(data)
    with pytest.raises(NotSealedError, match="offline"):
        sealed_serializer(RING, migrate=True).loads_typed((tag, data))
    assert ran == []


def test_unknown_tags_stay_refused(environment):
    serde = sealed_serializer(RING, migrate=True)
    for tag in ("msgpack+lz4", "yaml", "msgpack+aes+aes", "msgpack1+aes", "aes", "+aes"):
        with pytest.raises((TagError, NotSealedError)):
            serde.loads_typed((tag, b"\x80"))


def test_our_own_unencrypted_values_migrate_too():
    plain = sealed_serializer(UNENCRYPTED)
    serde = sealed_serializer(RING, migrate=True)
    for value in ("short", {"long": "words " * 500}):
        cell = plain.dumps_typed(value)
        assert serde.loads_typed(cell) == value
        with pytest.raises(NotSealedError):
            sealed_serializer(RING).loads_typed(cell)


def test_each_kind_is_logged_once_and_no_value_ever(caplog, environment):
    serde = sealed_serializer(RING, migrate=True)
    old = EncryptedSerializer.from_pycryptodome_aes()
    with caplog.at_level(logging.WARNING, "sealpoint"):
        for _ in range(3):
            serde.loads_typed(old.dumps_typed("s3cret"))
            serde.loads_typed(JsonPlusSerializer().dumps_typed("s3cret"))
    assert caplog.text.count("migration mode opened") == 2
    assert "s3cret" not in caplog.text
    assert serde.stats()["legacy"] == {"msgpack+aes": 3, "msgpack": 3}


def test_old_cells_build_no_type_that_is_not_allowed():
    """In LangGraph this payload imports a module; here it is data from an unauthenticated source."""
    import ormsgpack

    body = ormsgpack.packb(("os", "mkdir", ("sealpoint-was-here",)))
    cell = ("msgpack", ormsgpack.packb(ormsgpack.Ext(1, body)))
    script = (
        "import sys, os; from sealpoint import Keyring, sealed_serializer\n"
        "os.mkdir = lambda *a: sys.exit(9)\n"
        f"serde = sealed_serializer(Keyring.generate(), migrate=True)\n"
        f"try: serde.loads_typed({cell!r})\n"
        "except Exception as exc: print(type(exc).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_of_old_cells_keeps_its_keys_to_itself():
    reader = LegacyReader((KEY.encode(),))
    with pytest.raises(TypeError, match="holds keys"):
        pickle.dumps(reader)
    with pytest.raises(ValueNotStorableError):
        sealed_serializer(RING, pickle_fallback=True).dumps_typed({"r": reader})
    assert KEY not in repr(reader)


def test_without_pycryptodome_the_error_names_the_extra(monkeypatch, environment):
    cell = EncryptedSerializer.from_pycryptodome_aes().dumps_typed("v")
    monkeypatch.setitem(sys.modules, "Crypto.Cipher", None)
    with pytest.raises(MissingExtraError, match=r"sealpoint\[legacy\]"):
        sealed_serializer(RING, migrate=True).loads_typed(cell)

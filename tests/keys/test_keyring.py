"""Keys from text and from the environment: what is refused, and that no refusal shows a key."""

import base64
import logging
import secrets

import pytest
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sealpoint import AesGcm, Context, Keyring
from sealpoint.ciphers import KeyKind, KeyReference
from sealpoint.errors import KeyFormatError, NoKeyError, UnknownKeyError
from sealpoint.keys import langgraph_aes_keys
from sealpoint.keys.environment import keyring_from_env

KEY = secrets.token_bytes(32)
OTHER = secrets.token_bytes(32)
PLACE = Context.unbound()


def b64(key):
    return base64.b64encode(key).decode()


def test_the_first_key_seals_and_all_open():
    ring = Keyring.parse(f"2026-11:{b64(KEY)},2026-05:{b64(OTHER)}")
    assert ring.active == "2026-11"
    assert ring.ids == ("2026-11", "2026-05")
    old = AesGcm(Keyring({"2026-05": OTHER}, active="2026-05")).encode(b"old", "t", PLACE)
    assert AesGcm(ring).decode(old, "t", PLACE) == b"old"


MALFORMED = {
    "short": f"a:{b64(KEY[:31])}",
    "long": f"a:{b64(KEY + b'x')}",
    "not base64": f"a:{'*' * 44}",
    "urlsafe": "a:" + base64.urlsafe_b64encode(b"\xff" * 32).decode(),
    "no padding": f"a:{b64(KEY).rstrip('=')}",
    "stray bits": f"a:{b64(bytes(32))[:-2]}B=",
    "after the padding": f"a:{b64(KEY)}AAAA",
    "space before": f"a: {b64(KEY)}",
    "space in front": f" a:{b64(KEY)}",
    "newline": f"a:{b64(KEY)}\n",
    "space inside": f"a:{b64(KEY)[:20]} {b64(KEY)[20:]}",
    "no id": b64(KEY),
    "empty id": f":{b64(KEY)}",
    "bad id": f"a b:{b64(KEY)}",
    "id with slash": f"a/b:{b64(KEY)}",
    "long id": f"{'a' * 33}:{b64(KEY)}",
    "not ascii id": f"\u00e9:{b64(KEY)}",
    "empty": "",
    "empty entry": f"a:{b64(KEY)},",
    "same id": f"a:{b64(KEY)},a:{b64(OTHER)}",
    "same key": f"a:{b64(KEY)},b:{b64(KEY)}",
    "empty key": "a:",
    "hex": f"a:{KEY.hex()}",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_keys_are_refused_at_construction_without_being_shown(text):
    for build in (lambda: Keyring.parse(text), lambda: keyring_from_env({"SEALPOINT_KEYS": text})):
        with pytest.raises(KeyFormatError) as caught:
            build()
        shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
        for part in text.replace(",", ":").split(":"):
            assert len(part.strip()) <= 4 or part.strip()[:12] not in shown


def test_a_mapping_is_checked_too():
    with pytest.raises(KeyFormatError, match="31 bytes"):
        Keyring({"a": KEY[:31]}, active="a")
    with pytest.raises(KeyFormatError, match="str"):
        Keyring({"a": "x" * 32}, active="a")
    with pytest.raises(KeyFormatError, match="not among the keys: 'a'") as caught:
        Keyring({"a": KEY}, active="a-typed-secret-0")
    assert "typed" not in str(caught.value)
    with pytest.raises(KeyFormatError, match="same key"):
        Keyring({"a": KEY, "b": KEY}, active="a")


def test_no_key_says_how_to_make_one():
    with pytest.raises(NoKeyError, match="sealpoint keygen"):
        Keyring.from_env({})


def test_a_missing_stretched_key_names_the_variables_to_keep_it_in():
    with pytest.raises(UnknownKeyError, match="LANGGRAPH_AES_KEY"):
        Keyring({"a": KEY}, active="a").resolve(KeyReference(KeyKind.KEYRING, "lg-17ad3e85"), PLACE)


def test_a_key_of_another_kind_is_unknown_here():
    ring = Keyring({"a": KEY}, active="a")
    with pytest.raises(UnknownKeyError, match="key_store"):
        ring.resolve(KeyReference(KeyKind.KEY_STORE, "a"), PLACE)


@pytest.mark.parametrize("length", [16, 24, 32])
def test_langgraphs_key_seals_when_it_is_all_there_is(length, caplog):
    typed = "correct horse battery staple 123"[:length]
    with caplog.at_level(logging.WARNING, "sealpoint"):
        ring = Keyring.from_env({"LANGGRAPH_AES_KEY": typed})
    assert "keygen" in caplog.text
    assert typed not in caplog.text
    reference, key = ring.current(PLACE)
    assert reference.key_id == f"lg-{key.check.hex()}"
    stretched = Scrypt(salt=b"sealpoint/v1/langgraph-aes-key", length=32, n=2**15, r=8, p=1).derive(typed.encode())
    sealed = AesGcm(ring).encode(b"v", "t", PLACE)
    assert AesGcm(Keyring({reference.key_id: stretched}, active=reference.key_id)).decode(sealed, "t", PLACE) == b"v"


def test_named_keys_seal_beside_langgraphs_which_still_open():
    env = {"LANGGRAPH_AES_KEY": "a" * 32, "LANGGRAPH_AES_FALLBACK_KEYS": f"{'b' * 16},{'c' * 24}", "LANGGRAPH_AES_LEGACY_KEY": "d" * 16}
    before = AesGcm(Keyring.from_env(env)).encode(b"v", "t", PLACE)
    ring = Keyring.from_env({**env, "SEALPOINT_KEYS": f"n:{b64(KEY)}"})
    assert ring.active == "n"
    assert len(ring.ids) == 5
    assert AesGcm(ring).decode(before, "t", PLACE) == b"v"


def test_langgraphs_raw_keys_come_in_the_order_they_are_tried():
    env = {"LANGGRAPH_AES_KEY": "a" * 32, "LANGGRAPH_AES_FALLBACK_KEYS": f"{'b' * 16},{'a' * 32}", "LANGGRAPH_AES_LEGACY_KEY": "d" * 16}
    assert langgraph_aes_keys(env) == (b"a" * 32, b"d" * 16, b"b" * 16)
    assert langgraph_aes_keys({}) == ()


@pytest.mark.parametrize("variable", ["LANGGRAPH_AES_KEY", "LANGGRAPH_AES_FALLBACK_KEYS", "LANGGRAPH_AES_LEGACY_KEY"])
def test_langgraphs_malformed_keys_are_refused_by_the_variables_name(variable):
    with pytest.raises(KeyFormatError, match=variable) as caught:
        Keyring.from_env({variable: "hunter2hunter2hun"})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(KeyFormatError, match="SEALPOINT_KEYS"):
        Keyring.from_env({"SEALPOINT_KEYS": ""})

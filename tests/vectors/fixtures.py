"""The keys, key ids and places that the vectors share; fixed, so that the files are the same on every run."""

from __future__ import annotations

from typing import Any

from . import reference as ref

KEY = ref.stream("key/2026-11", 32)
OLD = ref.stream("key/2026-05", 32)
DATA_KEY = ref.stream("key/data", 32)
OTHER_DATA_KEY = ref.stream("key/other data", 32)
THREAD_KEY = ref.stream("key/thread", 32)
BLOB = ref.stream("blob/kms-eu", 40)
BLOB_US = ref.stream("blob/kms-us", 48)
OTHER_BLOB = ref.stream("blob/other", 40)

KEYRING: list[dict[str, Any]] = [
    {"kind": 1, "key_id": "2026-11", "material": KEY.hex()},
    {"kind": 1, "key_id": "2026-05", "material": OLD.hex()},
]
KMS: list[dict[str, Any]] = [
    {"kind": 2, "root": "kms-eu", "wrapped": BLOB.hex(), "material": DATA_KEY.hex()},
    {"kind": 2, "root": "kms-us", "wrapped": BLOB_US.hex(), "material": DATA_KEY.hex()},
    {"kind": 2, "root": "kms-eu", "wrapped": OTHER_BLOB.hex(), "material": OTHER_DATA_KEY.hex()},
]
STORE: list[dict[str, Any]] = [{"kind": 3, "key_id": "thread-7.1", "material": THREAD_KEY.hex()}]

HEADER = ref.Header(ref.KEYRING, "2026-11", ref.check_value(KEY))
KMS_HEADER = ref.Header(ref.WRAPPED, "dk-1", ref.check_value(DATA_KEY), (("kms-eu", BLOB), ("kms-us", BLOB_US)))
STORE_HEADER = ref.Header(ref.STORED, "thread-7.1", ref.check_value(THREAD_KEY))

UNBOUND: ref.Place = {"kind": "unbound", "scope": ""}
CHECKPOINT: ref.Place = {"kind": "checkpoint", "scope": "app", "thread": "t-1", "ns": "", "checkpoint": "1f0"}
CHANNEL: ref.Place = {
    "kind": "channel value",
    "scope": "app",
    "thread": "t-1",
    "ns": "sub:1",
    "channel": "messages",
    "version": "00000000000000000000000000000003.0.48",
    "origin": "1f0",
}
DELTA: ref.Place = {**CHANNEL, "kind": "delta snapshot"}
WRITE: ref.Place = {
    "kind": "write",
    "scope": "app",
    "thread": "t-1",
    "ns": "sub:2",
    "checkpoint": "1f0",
    "task": "a1",
    "channel": "messages",
}

PLAIN = b"\x81\xa4user\xa3ada"


def salt(name: str) -> bytes:
    """The salt of the vector `name`; a salt drawn like this is fit for vectors only."""
    return ref.stream(f"salt/{name}", 24)


def resolver(entries: list[dict[str, Any]]) -> ref.Resolver:
    """What answers for the keys of a vector: by id for kinds 1 and 3, by root and wrapped key for kind 2."""

    def resolve(header: ref.Header) -> bytes | None:
        wanted = {(header.kind, root, wrapped.hex()) for root, wrapped in header.roots} or {(header.kind, header.key_id, "")}
        for entry in entries:
            if (entry["kind"], entry.get("root", entry.get("key_id")), entry.get("wrapped", "")) in wanted:
                return bytes.fromhex(entry["material"])
        return None

    return resolve

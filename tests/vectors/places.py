"""Context and envelope vectors: small values at every kind of place, opened with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import bodies
from . import reference as ref
from .cases import case, flip, shown
from .fixtures import (
    BLOB,
    BLOB_US,
    CHANNEL,
    CHECKPOINT,
    DATA_KEY,
    DELTA,
    HEADER,
    KEY,
    KEYRING,
    KMS,
    KMS_HEADER,
    OLD,
    OTHER_BLOB,
    PLAIN,
    STORE,
    STORE_HEADER,
    THREAD_KEY,
    UNBOUND,
    WRITE,
)

# --- context --------------------------------------------------------------------------------------------------------


def contexts() -> Iterator[dict[str, Any]]:
    """Places and their bytes, then versions that are none."""
    for name, place in _named_places():
        yield {"name": name, "context": shown(place), "expect": {"encoded": ref.context(place).hex()}}
    bad: list[tuple[str, dict[str, Any]]] = [
        ("true", {"bool": True}),
        ("null", {"null": None}),
        ("bytes", {"bytes": "33"}),
        ("list", {"list": []}),
    ]
    for name, shown_version in bad:
        context = {**shown(CHANNEL), "version": shown_version}
        yield {"name": f"version of type {name}", "context": context, "expect": {"error": "ConfigurationError"}}


def _named_places() -> Iterator[tuple[str, ref.Place]]:
    yield "unbound", UNBOUND
    yield "unbound, with a scope", {**UNBOUND, "scope": "app"}
    yield "checkpoint", CHECKPOINT
    yield "channel value", CHANNEL
    yield "delta snapshot", DELTA
    yield "write", WRITE
    for field in ref.FIELDS["write"]:
        yield f"write, empty {field}", {**WRITE, field: ""}
    for text in ("é", "e\u0301", "\u6f22", "\U0001f600", "\ud83d\ude00", "\ud800", "\udfff", "a\0b", "\ufeff", "x" * 300):
        yield f"thread {text[:8]!a}", {**CHECKPOINT, "thread": text}
    yield "scope and thread run together, first way", {**CHECKPOINT, "scope": "ab", "thread": "c"}
    yield "scope and thread run together, second way", {**CHECKPOINT, "scope": "a", "thread": "bc"}
    yield "a thread that looks like the fields behind it", {**CHECKPOINT, "thread": "t-1\0\0\0\0\0\0\0\x031f0"}
    for number in (0, 1, -1, 10**30):
        yield f"version {number}", {**CHANNEL, "version": number}
    for real in (0.0, -0.0, 1.0, 1.5, 5e-324, float("inf"), float("nan")):
        yield f"version {real!r} as a float", {**CHANNEL, "version": real}
    for word in ("", "1", "1.0", "i1", "\ud800"):
        yield f"version {word!a} as text", {**CHANNEL, "version": word}


# --- envelopes ------------------------------------------------------------------------------------------------------


def envelopes() -> Iterator[dict[str, Any]]:
    """Envelopes that open, then one fault each."""
    yield from _opens()
    yield from _moved()
    yield from _wrong_form()
    yield from _relabelled()
    yield from _wrong_keys()
    yield from _key_blocks()
    yield from bodies.small()


def _opens() -> Iterator[dict[str, Any]]:
    for place in (UNBOUND, CHECKPOINT, CHANNEL, DELTA, WRITE):
        yield case(f"opens: {place['kind']}", PLAIN, place=place, form=1 if place is UNBOUND else 3)
    for form, number in ref.FORMS.items():
        yield case(f"opens: form {form}", PLAIN, form=number)
    for length in (0, 1, 15, 16, 17, 255):
        yield case(f"opens: {length} bytes", ref.stream("plain", length), plain=ref.stream("plain", length))
    for tag in ("", "msgpack1+zstd", "x" * 255, "a+b+zstd", "\u6f22"):
        yield case(f"opens: tag {tag[:20]!a} of {len(tag.encode())} bytes", PLAIN, tag=tag)
    yield case("opens: the second key of the ring", PLAIN, header=ref.Header(1, "2026-05", ref.check_value(OLD)), material=OLD)
    yield case("opens: data key wrapped under two roots", PLAIN, header=KMS_HEADER, material=DATA_KEY, keys=KMS)
    yield case("opens: key of a key store", PLAIN, header=STORE_HEADER, material=THREAD_KEY, keys=STORE)
    places: list[ref.Place] = [
        {**CHANNEL, "version": 3},
        {**CHANNEL, "version": 3.0},
        {**CHANNEL, "channel": "\ud800", "thread": "\U0001f600"},
        {**CHANNEL, "scope": "", "ns": "", "origin": ""},
    ]
    for place in places:
        yield case(f"opens: {'|'.join(ascii(place[field]) for field in ref.FIELDS['channel value'])}", PLAIN, place=place)


def _moved() -> Iterator[dict[str, Any]]:
    for place in (CHECKPOINT, CHANNEL, DELTA, WRITE):
        for field in ("scope", *ref.FIELDS[str(place["kind"])]):
            elsewhere = {**place, field: f"{place[field]}x"}
            yield case(f"moved: {place['kind']}, another {field}", "AuthenticationError", place=place, open_place=elsewhere)
    yield case("moved: unbound, another scope", "AuthenticationError", place=UNBOUND, form=1, open_place={**UNBOUND, "scope": "app"})
    for there, here in [
        (CHANNEL, DELTA),
        (DELTA, CHANNEL),
        (UNBOUND, CHANNEL),
        (CHANNEL, {**UNBOUND, "scope": "app"}),
        (CHECKPOINT, WRITE),
    ]:
        yield case(f"moved: from {there['kind']} to {here['kind']}", "AuthenticationError", place=there, open_place=here)
    versions: list[tuple[float | str, float | str]] = [(3, "3"), (3, 3.0), (3.0, 3), (3.0, "3.0"), ("3", 3), (0.0, -0.0), (1, 2)]
    for old, new in versions:
        yield case(
            f"moved: from version {old!r} to {new!r}",
            "AuthenticationError",
            place={**CHANNEL, "version": old},
            open_place={**CHANNEL, "version": new},
        )
    pairs: list[tuple[str, ref.Place, ref.Place]] = [
        ("characters moved from scope to thread", {"scope": "ab", "thread": "c"}, {"scope": "a", "thread": "bc"}),
        ("thread and namespace exchanged", {"thread": "a", "ns": "b"}, {"thread": "b", "ns": "a"}),
        ("composed and decomposed é", {"thread": "é"}, {"thread": "e\u0301"}),
        ("a character and its pair of surrogates", {"thread": "\U0001f600"}, {"thread": "\ud83d\ude00"}),
        ("two lone surrogates", {"thread": "\ud800"}, {"thread": "\ud801"}),
        ("a namespace of spaces", {"ns": ""}, {"ns": " "}),
        ("a thread in capitals", {"thread": "a"}, {"thread": "A"}),
    ]
    for name, there, here in pairs:
        yield case(f"moved: {name}", "AuthenticationError", place={**CHECKPOINT, **there}, open_place={**CHECKPOINT, **here})


def _wrong_form() -> Iterator[dict[str, Any]]:
    for there, sealed_as in ref.FORMS.items():
        for here, opened_as in ref.FORMS.items():
            if there != here:
                yield case(f"form: {there} opened as {here}", "AuthenticationError", form=sealed_as, open_form=opened_as)


def _relabelled() -> Iterator[dict[str, Any]]:
    for there, here in [
        ("bytes", "pickle"),
        ("bytes", "msgpack1"),
        ("msgpack1", "json"),
        ("msgpack1", ""),
        ("", "msgpack1"),
        ("msgpack1+zstd", "msgpack1"),
        ("msgpack1", "msgpack1+zstd"),
        ("msgpack1+zstd", "msgpack1+zstd+zstd"),
        ("msgpack1", "MSGPACK1"),
        ("msgpack1", "msgpack1 "),
        ("msgpack1", "msgpack2"),
    ]:
        yield case(f"tag: {there!r} relabelled {here!r}", "AuthenticationError", tag=there, open_tag=here)
    yield case("tag: relabelled with 256 bytes", "TagError", open_tag="x" * 256)
    yield case("tag: relabelled with 128 characters of 2 bytes", "TagError", open_tag="é" * 128)
    yield case("tag: relabelled with a lone surrogate", "TagError", open_tag="\ud800")


def _wrong_keys() -> Iterator[dict[str, Any]]:
    only_old = [{"kind": 1, "key_id": "2026-11", "material": OLD.hex()}]
    yield case("key: another key has the id", "WrongKeyError", keys=only_old)
    yield case("key: the id is unknown", "UnknownKeyError", keys=KEYRING[1:])
    yield case("key: there is none", "UnknownKeyError", keys=[])
    yield case("key: known, but in a key store", "UnknownKeyError", keys=[{"kind": 3, "key_id": "2026-11", "material": KEY.hex()}])
    for at in range(4):
        yield case(f"key: check value, byte {at} changed", "WrongKeyError", edit=flip(15 + at))
    forged = ref.Header(1, "2026-11", ref.check_value(OLD))
    yield case("key: sealed under another key that has the same check value", "AuthenticationError", header=HEADER, material=OLD)
    yield case(
        "key: another key has the id, and the header has its check value", "AuthenticationError", keys=only_old, edit=_headed(forged)
    )
    renamed = ref.Header(1, "2026-05", HEADER.check)
    yield case("key: id changed to that of another known key", "WrongKeyError", edit=_headed(renamed))
    yield case("key: id changed to an unknown one", "UnknownKeyError", edit=flip(14))
    two_ids = [*KEYRING, {"kind": 1, "key_id": "2026-10", "material": KEY.hex()}]
    yield case("key: id changed to another id of the same key", "AuthenticationError", keys=two_ids, edit=flip(14))
    both = [*KEYRING, {"kind": 3, "key_id": "2026-11", "material": KEY.hex()}]
    yield case("key: kind changed, same key behind both kinds", "AuthenticationError", keys=both, edit=flip(6, 2))
    yield case("key: kind changed, no such key", "UnknownKeyError", edit=flip(6, 2))


def _key_blocks() -> Iterator[dict[str, Any]]:
    kms: dict[str, Any] = {"header": KMS_HEADER, "material": DATA_KEY, "keys": KMS}

    def block(*roots: tuple[str, bytes]) -> Any:
        return _headed(ref.Header(2, "dk-1", KMS_HEADER.check, roots), KMS_HEADER)

    yield case("key block: a root taken away opens", PLAIN, **kms, edit=block(("kms-eu", BLOB)))
    yield case("key block: a root added opens", PLAIN, **kms, edit=block(("kms-eu", BLOB), ("kms-us", BLOB_US), ("new", b"blob")))
    yield case("key block: roots in another order open", PLAIN, **kms, edit=block(("kms-us", BLOB_US), ("kms-eu", BLOB)))
    yield case("key block: another data key under the root", "WrongKeyError", **kms, edit=block(("kms-eu", OTHER_BLOB)))
    yield case("key block: wrapped key changed", "UnknownKeyError", **kms, edit=block(("kms-eu", BLOB[:-1] + b"\0")))
    yield case("key block: wrapped key under the wrong root", "UnknownKeyError", **kms, edit=block(("kms-us", BLOB)))
    yield case("key block: no root that is configured", "UnknownKeyError", **kms, edit=block(("elsewhere", BLOB)))
    yield case("key block: data key id changed", "AuthenticationError", **kms, edit=flip(11))
    yield case("key block: taken away", "EnvelopeError", **kms, edit=_without_block)
    yield case("key block: kind changed to keyring", "UnknownKeyError", **kms, edit=flip(6, 3))
    yield case("key store: another id", "UnknownKeyError", header=STORE_HEADER, material=THREAD_KEY, keys=STORE, edit=flip(17))
    other = [{"kind": 3, "key_id": "thread-7.1", "material": KEY.hex()}]
    yield case(
        "key store: another key of a later generation has the id", "WrongKeyError", header=STORE_HEADER, material=THREAD_KEY, keys=other
    )


def _headed(header: ref.Header, before: ref.Header = HEADER) -> Any:
    skip = len(before.core() + before.block())
    return lambda data: header.core() + header.block() + data[skip:]


def _without_block(data: bytes) -> bytes:
    core, block = KMS_HEADER.core(), KMS_HEADER.block()
    return core + data[len(core) + len(block) :]

"""What goes inward in clear, because inner savers act on it, and the check that nobody changed it; what is sealed is decided elsewhere."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...errors import AuthenticationError, ConfigurationError, NotSealedError, ValueNotStorableError
from .filters import as_json, same_json, survives
from .names import Names
from .skeleton import Skeleton
from .tokens import is_token_key

SEAL: Final = "sealpoint"
"""The metadata key of the sealed checkpoint: base64 of one sealed value."""
PLACE: Final = "sealpoint_place"
"""The metadata key of the real thread and namespace, where the stored ones are tokens."""

READABLE: Final = ("source", "step", "parents", "run_id", "counters_since_delta_snapshot", "delta_writes_versioned")
"""What stays readable, because savers prune, delete and sort by it. docs/limitations-sealed-saver.md names these."""
_VERSION: Final = 4  # of the checkpoint format: from here on no inner saver migrates anything by itself
FILTERABLE: Final = frozenset({"source", "step", "run_id"})


def checkpoint_in_clear(skeleton: Skeleton, names: Names) -> dict[str, Any]:
    """What of a checkpoint goes inward in clear: its id, time and channel versions. A reader makes it again, to compare."""
    versions = skeleton.versions
    return {
        "v": _VERSION,
        "id": skeleton.id,
        "ts": skeleton.checkpoint.get("ts"),
        "channel_versions": {names.channel(channel): version for channel, version in versions.items()} if names.nodes else dict(versions),
        "versions_seen": {},
        "updated_channels": None,
    }


def metadata_in_clear(metadata: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The readable copy of `metadata`, in JSON's types. A value that some store would change stays out of it: it is sealed anyway."""
    found = {key: value for key in READABLE if key in metadata and survives(value := as_json(metadata[key]))}
    if names.nodes:
        for key, rename in (("parents", names.ns), ("counters_since_delta_snapshot", names.channel)):
            if isinstance(found.get(key), dict):
                found[key] = {rename(name): value for name, value in found[key].items()}
    return found


def passed_in_clear(metadata: Mapping[str, Any], passed: Iterable[str]) -> dict[str, Any]:
    """Of the metadata, the keys that also go inward in the config: a saver that would store the config's value stores the sealed one.

    Raises:
        ValueNotStorableError: a store would change it, and the checkpoint would be refused afterwards.
    """
    found = {key: as_json(metadata[key]) for key in passed if key in metadata}
    for key, value in found.items():
        if not survives(value):
            raise ValueNotStorableError(
                f"{key!r} is named in pass_through, so it is stored readably, and stores would change its value (lone surrogates, NUL, "
                "NaN, floats from 2**53 on); nothing was stored. Give it another value, or take the key out of pass_through"
            )
    return found


def check_passed(keys: Iterable[str]) -> tuple[str, ...]:
    """`keys`, when each can go inward.

    Raises:
        ConfigurationError: one is a key that seals stand under.
    """
    named = tuple(keys)
    for key in named:
        if _is_ours(key):
            raise ConfigurationError(f"pass_through names {key!r}, under which SealedSaver stores a seal: call the key something else")
    return named


def check_copy(stored: Mapping[str, Any], expected: Mapping[str, Any], sealed: Mapping[str, Any]) -> None:
    """Refuses a readable copy that differs from what was sealed.

    Args:
        stored: what the inner saver returned.
        expected: what was passed to it, seals apart.
        sealed: the opened metadata; a key of it that the inner saver stores on its own account must agree too.

    Raises:
        AuthenticationError: a key was edited, removed or forged. Keys that a saver adds by itself are no part of this, nor is what a
            user called like one of our seals: that is in the sealed metadata alone.
    """
    for key in {*expected, *(key for key in stored if (key in sealed and key not in (SEAL, PLACE)) or is_token_key(key))}:
        wanted = expected[key] if key in expected else sealed.get(key)
        if key not in stored or not same_json(stored[key], wanted):
            raise AuthenticationError("the readable metadata beside a sealed checkpoint was edited; the checkpoint is refused")


def _is_ours(key: str) -> bool:
    return key in (SEAL, PLACE) or is_token_key(key)


def to_text(sealed: bytes) -> str:
    """Sealed bytes as they travel among metadata."""
    return base64.b64encode(sealed).decode("ascii")


def from_text(text: Any) -> bytes:
    """The bytes of a sealed string.

    Raises:
        NotSealedError: it is not one.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise NotSealedError("the sealed checkpoint among the metadata is not base64 text: it was damaged or replaced") from None

"""The default base of every chain: objects to msgpack1, lossless or loud; it decides whom to trust, and leaves the format to the codec."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from ..errors import ConfigurationError, TagError, TypeRefusedError
from .codec import langgraph_reader, reader, writer
from .codec.drift import DriftPolicy
from .codec.outline import Outline, outline
from .codec.registry import Codec, codec_for
from .codec.trust import Trust, strict_by_environment

TAG: Final = "msgpack1"


class JsonPlus:
    """What comes back equals what went in, in type and in value, or `dumps_typed` raises.

    Objects are stored as their state and restored without calling anything of their class; types are named by module and qualified name.
    Which names a payload may use depends on who vouches for it:

    * a payload that our envelope authenticated may name whatever was written, unless `allowed_types` or LANGGRAPH_STRICT_MSGPACK (read at
      construction) narrows that;
    * any other builds only LangGraph's safe types, a few of our own that merely hold data, `allowed_types`, and registered types.

    It writes the tag ``msgpack1`` only, and reads LangGraph's ``msgpack``, ``json``, ``bytes``, ``bytearray`` and ``null`` as well. An
    instance is safe in threads. docs/spec/msgpack1.md describes the format, docs/serde-table.md lists what is kept and refused.

    Args:
        pickle_fallback: pickles the single objects that nothing else stores, checks them on writing, and reads them back from authenticated
            payloads only. Pickle runs code when it is read: leave it off.
        allowed_types: classes or (module, name) pairs; the last part of a qualified name will do.
        on_drift: what to do with stored fields that their class no longer has: "warn" drops them, and logs it once for every class and
            process; or "error", or "ignore". A field added since gets its default; one without a default always raises.

    Raises:
        ConfigurationError: an argument is none of these.

    >>> from sealpoint.serde import JsonPlus
    >>> serde = JsonPlus()
    >>> serde.loads_typed(serde.dumps_typed({1: ("a", {2, 3}), "1": 2**70}))
    {1: ('a', {2, 3}), '1': 1180591620717411303424}
    """

    def __init__(
        self,
        pickle_fallback: bool = False,
        allowed_types: Iterable[type | tuple[str, ...]] | None = None,
        on_drift: Literal["warn", "error", "ignore"] = "warn",
    ) -> None:
        self._pickle = bool(pickle_fallback)
        self._drift = DriftPolicy(on_drift)
        self._untrusted = Trust.in_types(() if allowed_types is None else allowed_types)
        narrowed = allowed_types is not None or strict_by_environment()
        self._trusted = self._untrusted if narrowed else Trust(None)
        # Replaced when a codec is registered, never changed: threads and copies see one state or the other.
        self._by_type: dict[type, Codec] = {}
        self._by_name: dict[str, Codec] = {}

    # --- LangGraph's interface ------------------------------------------------------------------------------------

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag, always ``msgpack1``, and the bytes of `obj`.

        Raises:
            ValueNotStorableError: a part has no faithful form; the message gives its path and type, and says what to do.
        """
        return TAG, writer.dumps(obj, self._by_type, self._pickle)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The object of a payload that nothing vouches for; see `load`."""
        tag, raw = data
        return self.load(tag, raw, authenticated=False)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlus:
        """The same serializer, allowing these types as well; LangGraph calls it in strict mode.

        Raises:
            ConfigurationError: an entry is neither a class nor a pair of module and name.
        """
        clone = copy.copy(self)
        extra = Trust.in_types(extra_allowlist)
        clone._untrusted = self._untrusted.and_also(extra)
        clone._trusted = self._trusted.and_also(extra)
        return clone

    # --- what the chain calls -------------------------------------------------------------------------------------

    def load(self, tag: str, data: bytes, *, authenticated: bool) -> Any:
        """The object of a payload.

        Args:
            tag: what `dumps_typed` returned, or one of LangGraph's tags.
            data: the bytes beside it.
            authenticated: whether our envelope proved, before this call, that tag and bytes are what we wrote.

        Raises:
            TagError: the tag names a layer or a format that is not read here.
            TypeRefusedError: the payload names a type that is not allowed; nothing was imported. List it, if it is yours.
            MissingTypeError: a type is not there any more: restore it where it was.
            SchemaDriftError: a class has changed in a way that no default covers.
            DecodeError: the bytes are damaged, or nothing of ours wrote them.
        """
        trust = self._trusted if authenticated else self._untrusted
        if tag == TAG:
            return reader.loads(
                data, trust=trust, drift=self._drift, codecs=self._by_name, authenticated=authenticated, pickle=self._pickle
            )
        if tag in langgraph_reader.TAGS:
            return langgraph_reader.loads(tag, data, trust)
        if tag == "pickle":
            return self._unpickled(data, authenticated)
        raise _unknown(tag)

    def outline(self, tag: str, data: bytes, *, authenticated: bool) -> Outline:
        """The payload's plain shape, and the types in it that `load` would refuse; nothing of it is built.

        Raises:
            DecodeError: it is damaged, or has no outline.
        """
        found = outline(tag, data)
        trust = self._trusted if authenticated else self._untrusted
        allowed = (trust if tag == TAG else trust.to_call()).allows
        return Outline(found.shape, tuple(name for name in found.names if not allowed(*name)))

    def register(self, cls: type, encode: Callable[[Any], Any], decode: Callable[[Any], Any], *, name: str | None = None) -> JsonPlus:
        """Stores instances of exactly `cls` as what `encode` makes of them; returns this serializer.

        The type is allowed in every mode, since its decoder is yours. Copies made before are not affected; those made later are.

        Args:
            cls: the class; subclasses are not meant.
            encode: makes something storable of an instance, for example a list of its parts.
            decode: makes an instance of that.
            name: stands in stored values instead of the class's own name. Give one if the class may move.

        Raises:
            ConfigurationError: `cls` is a builtin scalar or container, or another class has that name already.

        >>> from random import Random
        >>> def restored(state):
        ...     made = Random()
        ...     made.setstate(state)
        ...     return made
        >>> serde = JsonPlus().register(Random, Random.getstate, restored)
        >>> dice = Random(3)
        >>> serde.loads_typed(serde.dumps_typed(dice)).random() == dice.random()
        True
        """
        codec = codec_for(cls, encode, decode, name)
        if self._by_name.get(codec.name, codec).cls is not cls:
            raise ConfigurationError(f"another class is registered as {codec.name!r} already; give this one a name of its own")
        self._by_type = {**self._by_type, cls: codec}
        self._by_name = {**self._by_name, codec.name: codec}
        return self

    def _unpickled(self, data: bytes, authenticated: bool) -> Any:
        if not self._pickle or not authenticated:
            raise TypeRefusedError(
                "a value tagged 'pickle' can run code when read; it is read only with pickle_fallback=True and from an authenticated "
                "payload. Convert it in an offline job"
            )
        return pickle.loads(data)  # noqa: S301 - authenticated, and asked for by name

    def __repr__(self) -> str:
        return f"JsonPlus(pickle_fallback={self._pickle}, on_drift={self._drift.on_drift!r})"


def _unknown(tag: Any) -> TagError:
    if isinstance(tag, str) and "+" in tag:
        layer = tag.rpartition("+")[2]
        return TagError(
            f"the tag {tag[:60]!r} ends with the layer {layer[:32]!r}, which this serializer does not have: read it with the chain that "
            "wrote it, for example sealed_serializer(keys)"
        )
    return TagError(f"the tag {str(tag)[:60]!r} names no format that is read here: it was relabelled, or written by something else")

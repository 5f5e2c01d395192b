"""The composed serializer: a base and a chain of layers, with tags that say how to read a value; no format or cipher is known here."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..ciphers import AsyncLayer, KeySource, Layer
from ..context import Context
from ..errors import ConfigurationError, NotSealedError, SealpointError, TagError
from ..events import Hook, Recorder
from .base import AllowlistBase, BaseSerializer, TrustAwareBase
from .codec.outline import UNBUILT, Outline
from .jsonplus import JsonPlus
from .legacy import PLAIN_TAGS, LegacyReader, is_langgraph_encrypted, is_pickle, legacy_kind
from .parts import Data, as_bytes, checked_base, checked_layers, lacking, whole
from .tags import framed, peeled, unframed, with_layer


@dataclass(frozen=True, slots=True)
class Packed:
    """A serialized value without its layers.

    Args:
        tag: how to read it.
        data: its bytes.
        authenticated: whether it came out of a cell that a key vouches for.
    """

    tag: str
    data: bytes = field(repr=False)
    authenticated: bool = False


class LayeredSerializer(JsonPlusSerializer):
    """A serializer for any LangGraph saver: `base`, then each of `layers` in order, undone in reverse.

    A stored value's tag is the base's tag followed by ``+name`` for every layer that was applied, for example
    ``msgpack1+zstd+aesgcm``. Nothing outside the outermost authenticating layer is parsed, and that layer must be the last one.

    It is a `JsonPlusSerializer` by class because LangGraph looks at the class when `LANGGRAPH_STRICT_MSGPACK` is set, and would replace or
    bypass any other serializer; nothing but `dumps_typed`, `loads_typed` and `with_msgpack_allowlist` of that class is used.

    Args:
        base: `sealpoint.serde.JsonPlus()`, or anything with `dumps_typed` and `loads_typed`.
        layers: for example ``Zstd(), AesGcm(keys)``; anything that follows `sealpoint.ciphers.Layer`. A LangGraph `CipherProtocol` goes
            into `sealpoint.serde.CipherLayer` first.
        scope: separates applications that share a key: a value sealed under one scope does not open under another.
        legacy: opens what LangGraph's serializers wrote, while it is given. None refuses it.
        on_event: called for every seal, open and refusal.

    Raises:
        ConfigurationError: something is not a base or a layer, a layer stands outside the cipher, or `legacy` is given over a base that
            cannot be told that such values are not to be trusted.
    """

    def __init__(
        self,
        base: BaseSerializer,
        *layers: Layer,
        scope: str = "",
        legacy: LegacyReader | None = None,
        on_event: Hook | None = None,
    ) -> None:
        super().__init__()
        self._base = checked_base(base)
        self._layers = checked_layers(layers)
        self._outer = self._layers[-1] if self._layers and self._layers[-1].authenticates_tag else None
        self._inner = self._layers if self._outer is None else self._layers[:-1]
        self._ask_key_id: Callable[[bytes], str] | None = getattr(self._layers[-1], "key_id", None) if self._layers else None
        if not isinstance(scope, str):
            raise ConfigurationError(f"a scope is text, not {type(scope).__name__}")
        self._unbound = Context.unbound(scope)
        if legacy is not None and not isinstance(self._base, TrustAwareBase):
            raise ConfigurationError(
                f"migration mode opens data that nothing vouches for, and {type(base).__name__} cannot be told so: "
                "give the base load(tag, data, *, authenticated), or use JsonPlus"
            )
        self._legacy = legacy
        self._recorder = Recorder(on_event)

    # --- LangGraph's interface ------------------------------------------------------------------------------------

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """`obj` sealed without a place: see `seal`."""
        return self.seal(obj, self._unbound)

    def loads_typed(self, data: tuple[str, Data]) -> Any:
        """The object of a value that `dumps_typed` made; a value sealed for a place does not open here: see `open`."""
        tag, sealed = data
        return self.open(tag, sealed, self._unbound)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> LayeredSerializer:
        """The same chain, keys and counts over a base that also allows these types; LangGraph calls it in strict mode."""
        if not isinstance(self._base, AllowlistBase):
            return self
        clone = copy.copy(self)
        clone._base = checked_base(self._base.with_msgpack_allowlist(extra_allowlist))
        return clone

    def register(
        self, cls: type, encode: Callable[[Any], Any], decode: Callable[[Any], Any], *, name: str | None = None
    ) -> LayeredSerializer:
        """Registers a codec with the base, as `JsonPlus.register` does, and returns this serializer.

        Raises:
            ConfigurationError: the base takes no codecs, or not this one.
        """
        if not isinstance(self._base, JsonPlus):
            raise ConfigurationError(f"{type(self._base).__name__} takes no codecs; the base has to be sealpoint.serde.JsonPlus")
        self._base.register(cls, encode, decode, name=name)
        return self

    # --- what savers call -----------------------------------------------------------------------------------------

    def seal(self, obj: Any, context: Context) -> tuple[str, bytes]:
        """The tag and bytes of `obj`, bound to `context` by every authenticating layer.

        Raises:
            ValueNotStorableError: from the base; nothing was sealed.
            KeyAccessError, RetryableError: from the key source; nothing was sealed.
        """
        try:
            tag, data = self._done(obj, self._layers, context)
        except SealpointError as exc:
            self._refused(exc)
            raise
        self._recorder.record("seal", self._key_id(data))
        return tag, data

    def open(self, tag: str, data: Data, context: Context) -> Any:
        """The object that was sealed with `context`.

        Raises:
            NotSealedError, TagError: the tag is not one that this chain writes; nothing was parsed.
            IntegrityError: damaged, forged, relabelled or moved; nothing was parsed.
            KeyAccessError: supply the key that the message names.
        """
        sealed = b""
        try:
            sealed = as_bytes(data)
            return self._opened(tag, sealed, context)
        except SealpointError as exc:
            self._refused(exc, sealed)
            raise

    def seal_cell(self, obj: Any, context: Context) -> bytes:
        """`obj` as bare bytes, for a place that has no column for the tag: there the tag is the first field of what is encrypted.

        Format: the outermost layer, with an empty inner tag, over tag length (1) | tag | data (docs/spec/envelope-v1.md, "Cells").

        Raises:
            As `seal`.
        """
        return self.seal_packed(self.pack(obj), context)

    def open_cell(self, cell: Data, context: Context) -> Any:
        """The object of a cell that `seal_cell` made with `context`; a value of `seal` does not open here, nor a cell there.

        Raises:
            As `open`.
        """
        return self.unpack(self.open_packed(cell, context))

    def pack(self, obj: Any) -> Packed:
        """The base's payload of `obj`, for a saver that puts several values into one cell, or must know a value's size. It is not sealed.

        Raises:
            ValueNotStorableError: from the base.
        """
        try:
            return Packed(*self._based(obj))
        except SealpointError as exc:
            self._refused(exc)
            raise

    def unpack(self, packed: Packed) -> Any:
        """The object of a payload; one that came out of an authenticated cell may name the types it is made of.

        Raises:
            DecodeError, ConfigurationError: from the base.
        """
        try:
            return self._load(packed.tag, packed.data, packed.authenticated)
        except SealpointError as exc:
            self._refused(exc)
            raise

    def seal_packed(self, packed: Packed, context: Context) -> bytes:
        """A cell around a payload that is serialized already: `pack`'s, or one of a saver's own under a tag of its own.

        Raises:
            As `seal`.
        """
        try:
            tag, data = self._layered(packed.tag, packed.data, self._inner, context)
            cell = framed(tag, data)
            if self._outer is not None:
                cell = whole(self._outer, self._outer.encode(cell, "", context))
        except SealpointError as exc:
            self._refused(exc)
            raise
        self._recorder.record("seal", self._key_id(cell))
        return cell

    def open_packed(self, cell: Data, context: Context) -> Packed:
        """The payload of a cell, not yet parsed.

        Raises:
            As `open`.
        """
        sealed = b""
        try:
            sealed = as_bytes(cell)
            plain = sealed if self._outer is None else self._outer.decode(sealed, "", context)
            tag, data = unframed(plain)
            packed = self._peeled(tag, data, self._inner, context, authenticated=self._outer is not None)
        except SealpointError as exc:
            self._refused(exc, sealed)
            raise
        self._recorder.record("open", self._key_id(sealed))
        return packed

    async def aseal(self, obj: Any, context: Context) -> tuple[str, bytes]:
        """As `seal`, without blocking the event loop: a key is awaited, the work is done in a thread."""
        if not isinstance(self._outer, AsyncLayer):
            return await asyncio.to_thread(self.seal, obj, context)
        try:
            tag, data = await asyncio.to_thread(self._done, obj, self._inner, context)
            data, tag = await self._outer.aencode(data, tag, context), with_layer(tag, self._outer.name)
        except SealpointError as exc:
            self._refused(exc)
            raise
        self._recorder.record("seal", self._key_id(data))
        return tag, data

    async def aopen(self, tag: str, data: Data, context: Context) -> Any:
        """As `open`, without blocking the event loop: a key is awaited, the work is done in a thread."""
        sealed = b""
        try:
            sealed = as_bytes(data)
            outer, inner = self._outer, peeled(tag, self._outer.name) if self._outer is not None and self._outermost_is_ours(tag) else None
            if inner is None or not isinstance(outer, AsyncLayer):
                return await asyncio.to_thread(self._opened, tag, sealed, context)
            plain = await outer.adecode(sealed, inner, context)
            value = await asyncio.to_thread(self._undone, inner, plain, self._inner, context, authenticated=True)
        except SealpointError as exc:
            self._refused(exc, sealed)
            raise
        self._recorder.record("open", self._key_id(sealed))
        return value

    def outline(self, data: tuple[str, Data]) -> Outline:
        """The plain shape of what `loads_typed` would build, and the types that it would refuse; nothing is built, and nothing counted.

        Raises:
            IntegrityError, KeyAccessError: it does not open, or has no outline.
        """
        tag, sealed = data
        if self._outermost_is_ours(tag):
            packed = self._peeled(tag, as_bytes(sealed), self._layers, self._unbound, authenticated=False)
        elif tag in PLAIN_TAGS:
            packed = Packed(tag, as_bytes(sealed))
        else:
            packed = Packed(*self._foreign_plain(tag, as_bytes(sealed)))
        if not isinstance(self._base, JsonPlus):
            return Outline(UNBUILT)
        return self._base.outline(packed.tag, packed.data, authenticated=packed.authenticated)

    @property
    def scope(self) -> str:
        """What separates this application's values from another's under the same key."""
        return self._unbound.scope

    @property
    def keys(self) -> KeySource | None:
        """The key source of the cipher layer, for savers that tell it when a thread begins and ends; None without one of ours."""
        keys = getattr(self._outer, "keys", None)
        return keys if isinstance(keys, KeySource) else None

    @property
    def migrates(self) -> bool:
        """Whether it opens what LangGraph's serializers wrote."""
        return self._legacy is not None

    def stats(self) -> dict[str, dict[str, int]]:
        """How many values were sealed, opened, refused and opened as old ones, by key id and reason. Shared by clones."""
        return self._recorder.stats()

    def __repr__(self) -> str:
        return f"LayeredSerializer({', '.join([type(self._base).__name__, *(layer.name for layer in self._layers)])})"

    # --- inside ---------------------------------------------------------------------------------------------------

    def _done(self, obj: Any, layers: tuple[Layer, ...], context: Context) -> tuple[str, bytes]:
        """The base's payload with `layers` applied to it."""
        tag, data = self._based(obj)
        return self._layered(tag, data, layers, context)

    def _based(self, obj: Any) -> tuple[str, bytes]:
        """The base's payload."""
        tag, data = self._base.dumps_typed(obj)
        if not tag:
            raise ConfigurationError(f"the base {type(self._base).__name__} gave a value an empty tag")
        return tag, data

    def _layered(self, tag: str, data: bytes, layers: tuple[Layer, ...], context: Context) -> tuple[str, bytes]:
        for layer in layers:
            encoded = layer.encode(data, tag, context)
            if encoded is None and layer.may_skip and peeled(tag, layer.name) is None:
                continue
            data, tag = whole(layer, encoded), with_layer(tag, layer.name)
        return tag, data

    def _undone(self, tag: str, data: bytes, layers: tuple[Layer, ...], context: Context, authenticated: bool = False) -> Any:
        """The object under `layers`."""
        packed = self._peeled(tag, data, layers, context, authenticated)
        return self._load(packed.tag, packed.data, packed.authenticated)

    def _peeled(self, tag: str, data: bytes, layers: tuple[Layer, ...], context: Context, authenticated: bool) -> Packed:
        """The payload under `layers`."""
        for layer in reversed(layers):
            inner = peeled(tag, layer.name)
            if inner is not None:
                data, tag = layer.decode(data, inner, context), inner
                authenticated = authenticated or layer.authenticates_tag
            elif not layer.may_skip:
                raise lacking(layer)
        return Packed(tag, data, authenticated)

    def _opened(self, tag: str, sealed: bytes, context: Context) -> Any:
        """The object of a value of ours, counted, or of an old cell where those are opened."""
        if not self._outermost_is_ours(tag):
            return self._open_foreign(tag, sealed)
        value = self._undone(tag, sealed, self._layers, context)
        self._recorder.record("open", self._key_id(sealed))
        return value

    def _outermost_is_ours(self, tag: str) -> bool:
        """Whether every layer that may not be skipped is in the tag, in order: decided before a byte is looked at."""
        if not isinstance(tag, str):
            raise NotSealedError(f"a stored value has a type tag; the saver returned {type(tag).__name__} for it")
        if self._legacy is not None and is_langgraph_encrypted(tag) and all(layer.may_skip for layer in self._layers):
            return False  # without a cipher of ours, only the tag tells LangGraph's encrypted cells from new values
        for depth, layer in enumerate(reversed(self._layers)):
            inner = peeled(tag, layer.name)
            if inner is not None:
                tag = inner
            elif layer.may_skip:
                continue
            elif depth == 0:
                return False
            else:
                raise lacking(layer)
        if not tag:
            raise TagError("the tag names layers and no format: a cell, whose tag is inside it, was relabelled as a value")
        return True

    def _open_foreign(self, tag: str, data: bytes) -> Any:
        """A value that the outermost layer did not write: opened only in migration mode, and never trusted."""
        inner, plain = self._foreign_plain(tag, data)
        value = self._load(inner, plain, authenticated=False)
        kind = legacy_kind(tag) or ""
        if self._recorder.record("legacy", reason=kind) == 1 and self._legacy is not None:
            self._legacy.announce(kind)
        return value

    def _foreign_plain(self, tag: str, data: bytes) -> tuple[str, bytes]:
        """The inner tag and the payload of such a value."""
        outer = self._layers[-1].name if self._layers else "(none)"
        kind = legacy_kind(tag)
        if self._legacy is None:
            hint = ""
            if kind is not None and not is_pickle(tag):
                hint = ". If it is from before sealing, migrate=True opens such values, unauthenticated; if not, someone put it there"
            raise NotSealedError(f"a value tagged {tag[:60]!r} stands where one sealed by layer {outer!r} belongs{hint}")
        if kind is None:
            raise TagError(f"no layer or old format is known for the tag {tag[:60]!r}; the outermost layer here is {outer!r}")
        for layer in reversed(self._layers):
            if layer.may_skip and (inner := peeled(tag, layer.name)) is not None:
                data, tag = layer.decode(data, inner, self._unbound), inner
        return self._legacy.plain(tag, data)

    def _load(self, tag: str, data: bytes, authenticated: bool) -> Any:
        if isinstance(self._base, TrustAwareBase):
            return self._base.load(tag, data, authenticated=authenticated)
        return self._base.loads_typed((tag, data))

    def _key_id(self, data: bytes) -> str:
        return "" if self._ask_key_id is None else self._ask_key_id(data)

    def _refused(self, exc: SealpointError, sealed: bytes = b"") -> None:
        self._recorder.record("refuse", self._key_id(sealed), type(exc).__name__)

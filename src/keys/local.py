"""A root key in this process, for offline work and tests; it is as safe as the place where the key comes from, and no safer."""

from __future__ import annotations

from collections.abc import Mapping

from ..ciphers import AesGcm
from ..context import Context, Form, Kind
from ..errors import AuthenticationError, IntegrityError
from .keyring import Keyring
from .wrapping import canonical


class LocalRoot:
    """A `KeyWrapper` whose roots are the keys of a `Keyring`: the first wraps, all unwrap. Nothing leaves the process.

    A wrapped key is an envelope of form "key wrap" (docs/spec/keys-v1.md, "Local roots"): it opens as nothing else.

    Args:
        keys: the master keys, for example `Keyring.parse(…)` of a file that only an administrator can read.
    """

    def __init__(self, keys: Keyring) -> None:
        self._cipher = AesGcm(keys)

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.wrap`."""
        return self._cipher.encode(key, "", _bound(context))

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.unwrap`.

        Raises:
            UnknownKeyError, WrongKeyError: it is wrapped under a master key that the keyring does not have.
        """
        try:
            return self._cipher.decode(wrapped, "", _bound(context))
        except IntegrityError as exc:
            raise AuthenticationError("the wrapped key does not open under the local root: it was damaged, forged or moved") from exc

    def __repr__(self) -> str:
        return "LocalRoot()"


def _bound(context: Mapping[str, str]) -> Context:
    return Context(Kind.UNBOUND, canonical(context), Form.KEY_WRAP)

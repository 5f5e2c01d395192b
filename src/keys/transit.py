"""Root keys in the transit engine of OpenBao or Vault, through hvac; authentication and token renewal are the client's."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import AuthenticationError, ConfigurationError, KeyRefusedError, KeyServiceUnavailableError, MissingExtraError, SealpointError
from .envelope import CacheLimits, DataKeyLimits, EnvelopeKeys, Mode
from .perprocess import PerProcess
from .wrapping import KeyWrapper, canonical

if TYPE_CHECKING:
    from hvac import Client

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
TRANSIT_CIPHERTEXT: Final = re.compile(rb"vault:v([1-9][0-9]{0,8}):[A-Za-z0-9+/=]+")  # OpenBao's prefix is Vault's
# The service answers 400 to all that it does not like about a request; these of its words mean the key, anything else the ciphertext.
_ABOUT_THE_KEY: Final = re.compile(r"key not found|disallowed by policy|deleted|key derivation|non-AEAD|unsupported|does not support")
_TIMEOUT_S: Final = 5.0
_RETRIES: Final = 4
_RETRY_STATUS: Final = (412, 429, 500, 502, 503, 504)  # 412: a replica that has not caught up (API documentation, "HTTP status codes")


class TransitRoot:
    """An AEAD key of a transit engine (aes256-gcm96, the default type, or chacha20-poly1305; derived or not) as a `KeyWrapper`.

    The token needs ``update`` on ``<mount>/encrypt/<name>`` to seal and on ``<mount>/decrypt/<name>`` to open. Do not grant ``create``:
    with it, the engine would make a key for a mistyped name. With ``read`` on ``<mount>/keys/<name>``, that is also checked before the
    first wrap.

    Args:
        name: the key's name in the engine.
        client: an hvac client. None makes one from `VAULT_ADDR` and `VAULT_TOKEN`, with a 5 s timeout and 4 retries with back-off and
            jitter.
        mount: where the engine is mounted.
        min_version: refuse keys that were wrapped under an older version of the transit key, without asking the service. The engine's own
            `min_decryption_version` does the same for everyone.

    Raises:
        ConfigurationError: the name or the version is malformed, or no client is given and `VAULT_ADDR` is not set.
        MissingExtraError: hvac is not installed.
    """

    def __init__(self, name: str, *, client: Client | None = None, mount: str = "transit", min_version: int = 1) -> None:
        if not _NAME.fullmatch(name) or min_version < 1:
            raise ConfigurationError("a transit key's name is 1 to 128 of A-Z a-z 0-9 _ . -, and versions start at 1")
        self.name = name
        self._mount = mount
        self._min_version = min_version
        self._client = PerProcess[Any](_client if client is None else lambda: client)
        self._exists = False

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.wrap`."""
        self._check_exists()
        answer = self._call("encrypt_data", plaintext=_text(key), **_bound(context))
        return str(answer["data"]["ciphertext"]).encode("ascii")

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.unwrap`."""
        match = TRANSIT_CIPHERTEXT.fullmatch(wrapped)
        if match is None:
            raise _forged()
        if int(match[1]) < self._min_version:
            raise KeyRefusedError(
                f"the data key is wrapped under version {int(match[1])} of transit key {self.name!r}, and the configuration takes none "
                f"below {self._min_version}: rewrap the value, or lower min_version"
            )
        answer = self._call("decrypt_data", ciphertext=wrapped.decode("ascii"), **_bound(context))
        return base64.b64decode(answer["data"]["plaintext"])

    def _check_exists(self) -> None:
        if self._exists:
            return
        from hvac.exceptions import Forbidden, InvalidPath

        try:
            self._client.get().secrets.transit.read_key(name=self.name, mount_point=self._mount)
        except Forbidden:
            pass  # the token may not look; then the engine decides
        except InvalidPath as exc:
            raise KeyRefusedError(
                f"there is no transit key {self.name!r} at mount {self._mount!r}: create it, or correct the name"
            ) from exc
        except Exception as exc:
            raise _translated(exc, "read_key", self.name) from exc
        self._exists = True

    def _call(self, operation: str, **parameters: object) -> dict[str, Any]:
        try:
            transit = self._client.get().secrets.transit
            answer: dict[str, Any] = getattr(transit, operation)(name=self.name, mount_point=self._mount, **parameters)
        except Exception as exc:
            raise _translated(exc, operation, self.name) from exc
        return answer

    def __repr__(self) -> str:
        return f"TransitRoot({self.name!r}, mount={self._mount!r})"


class TransitKeys(EnvelopeKeys):
    """`EnvelopeKeys` over OpenBao's or Vault's transit engine: data keys made here, wrapped there, carried by each value's header.

    Args:
        key: the transit key's name (see `TransitRoot`); its root is then named ``root``. Or name → key name, for several roots; a value may
            also be any other `KeyWrapper`, for example `KmsRoot`.
        client: an hvac client for all of them; None makes one from the environment.
        mount: where the engine is mounted.
        active, mode, limits, cache, clock: see `EnvelopeKeys`.

    Raises:
        ConfigurationError: a name is malformed.
        MissingExtraError: hvac is not installed.
    """

    def __init__(
        self,
        key: str | KeyWrapper | Mapping[str, str | KeyWrapper],
        *,
        client: Client | None = None,
        mount: str = "transit",
        active: Sequence[str] | None = None,
        mode: Mode = "full",
        limits: DataKeyLimits | None = None,
        cache: CacheLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def root(given: str | KeyWrapper) -> KeyWrapper:
            return TransitRoot(given, client=client, mount=mount) if isinstance(given, str) else given

        roots = {name: root(given) for name, given in key.items()} if isinstance(key, Mapping) else root(key)
        super().__init__(roots, active=active, mode=mode, limits=limits, cache=cache, clock=clock)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bound(context: Mapping[str, str]) -> dict[str, str]:
    """The context as associated data, and again as the derivation context, which only a derived key looks at."""
    encoded = _text(canonical(context))
    return {"associated_data": encoded, "context": encoded}


def _client() -> Client:
    try:
        from hvac import Client
        from requests.adapters import HTTPAdapter
        from urllib3 import Retry
    except ImportError as exc:
        raise MissingExtraError("the transit engine of OpenBao or Vault needs hvac: pip install 'sealpoint[transit]'") from exc
    if not os.environ.get("VAULT_ADDR"):
        raise ConfigurationError("no transit engine is known: set VAULT_ADDR and VAULT_TOKEN, or pass client=hvac.Client(…)")
    client = Client(timeout=_TIMEOUT_S)
    # Wrapping and unwrapping may be repeated, so POST is among the methods that are.
    retries = Retry(
        _RETRIES, backoff_factor=0.2, backoff_jitter=0.2, status_forcelist=_RETRY_STATUS, allowed_methods=None, raise_on_status=False
    )
    for scheme in ("https://", "http://"):
        client.adapter.session.mount(scheme, HTTPAdapter(max_retries=retries))
    return client


def _forged() -> AuthenticationError:
    return AuthenticationError("the wrapped data key does not open: it was damaged, forged or moved, or another root wrapped it")


def _translated(exc: Exception, operation: str, name: str) -> SealpointError:
    """Our error for one of hvac's: the one place where they are told apart. The service's own text stays in the chained exception."""
    from hvac import exceptions as hvac
    from requests.exceptions import RequestException

    if isinstance(exc, hvac.InvalidRequest):
        if operation == "decrypt_data" and not _ABOUT_THE_KEY.search(str(exc)):
            return _forged()
        return KeyRefusedError(
            f"the transit engine refused {operation} for key {name!r}: check that the key exists, is an AEAD key, and that its "
            "min_decryption_version lets this version through"
        )
    if isinstance(exc, (hvac.Forbidden, hvac.Unauthorized, hvac.InvalidPath)):
        return KeyRefusedError(
            f"the transit engine refused {operation} for key {name!r} ({type(exc).__name__}): check that the token is valid and not "
            "expired, that its policy allows it, and the mount"
        )
    if isinstance(exc, (hvac.VaultError, RequestException)):
        return KeyServiceUnavailableError(
            f"the transit engine did not serve {operation} for key {name!r} ({type(exc).__name__}); try again later"
        )
    return KeyRefusedError(f"the transit client failed {operation} for key {name!r} with {type(exc).__name__}")

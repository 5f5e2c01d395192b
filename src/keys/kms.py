"""Root keys in AWS KMS, through boto3; the credentials, retries and transport are boto3's."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import AuthenticationError, ConfigurationError, KeyRefusedError, KeyServiceUnavailableError, MissingExtraError, SealpointError
from .envelope import CacheLimits, DataKeyLimits, EnvelopeKeys, Mode
from .perprocess import PerProcess
from .wrapping import KeyWrapper

if TYPE_CHECKING:
    from botocore.client import BaseClient

# API reference, "KeyId": a key id (also of a multi-Region key, mrk-…), a key ARN, an alias name or an alias ARN.
_KEY_ID: Final = re.compile(
    r"(arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:(key|alias)/|alias/)?[A-Za-z0-9/_-]{1,256}",
    re.ASCII,
)
# API reference, "Errors" of Decrypt and GenerateDataKey. Whatever is in neither list is judged by its HTTP status.
_FORGED: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})
_PASSING: Final = frozenset({
    "DependencyTimeoutException",
    "KMSInternalException",
    "KeyUnavailableException",
    "LimitExceededException",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
})  # fmt: skip
_TIMEOUT_S: Final = 5.0
_ATTEMPTS: Final = 5  # with boto3's exponential back-off and jitter ("standard" retry mode): about 15 s before a call is given up


class KmsRoot:
    """A symmetric KMS key as a `KeyWrapper`. Its id is sent with every call, Decrypt included.

    Needs `kms:GenerateDataKey` (and `kms:Encrypt`, where it is not the first of several roots) to seal, `kms:Decrypt` to open;
    docs/keys-kms.md has the policies.

    Args:
        key_id: best the key's ARN. An alias works as long as it is never pointed at another key: then what the former key wrapped opens
            only under the former key's own ARN. For a multi-Region key give each Region its own replica's ARN, under the same root name.
        client: a boto3 KMS client, used as it is. None makes one in each process for the ARN's Region, with a 5 s timeout and 5 attempts
            with back-off and jitter.

    Raises:
        ConfigurationError: the id has not the form of one, or no Region is known.
        MissingExtraError: boto3 is not installed.
    """

    def __init__(self, key_id: str, *, client: BaseClient | None = None) -> None:
        match = _KEY_ID.fullmatch(key_id)
        if match is None:
            raise ConfigurationError("a KMS key is named by its ARN, its id, alias/<name> or an alias ARN")
        self.key_id = key_id
        self._client = PerProcess[Any](partial(_client, match["region"]) if client is None else lambda: client)

    def generate(self, context: Mapping[str, str]) -> tuple[bytes, bytes]:
        """See `KeyGenerator.generate`: GenerateDataKey, AES_256."""
        answer = self._call("generate_data_key", KeySpec="AES_256", EncryptionContext=dict(context))
        return answer["Plaintext"], answer["CiphertextBlob"]

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.wrap`: Encrypt."""
        blob: bytes = self._call("encrypt", Plaintext=key, EncryptionContext=dict(context))["CiphertextBlob"]
        return blob

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """See `KeyWrapper.unwrap`: Decrypt, with the configured KeyId, so that a key wrapped under any other KMS key is refused."""
        key: bytes = self._call("decrypt", CiphertextBlob=wrapped, EncryptionContext=dict(context))["Plaintext"]
        return key

    def _call(self, operation: str, **parameters: object) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client.get(), operation)(KeyId=self.key_id, **parameters)
        except Exception as exc:
            raise _translated(exc, operation, self.key_id) from exc
        return answer

    def __repr__(self) -> str:
        return f"KmsRoot({self.key_id!r})"


class KmsKeys(EnvelopeKeys):
    """`EnvelopeKeys` over AWS KMS: data keys from GenerateDataKey, carried by each value's header.

    Args:
        key: the KMS key's ARN (see `KmsRoot`); its root is then named ``root``. Or name → ARN, for several roots, in the order in which
            they are tried; a value may also be any other `KeyWrapper`, for example `TransitRoot`.
        client: a boto3 KMS client for all of them; None makes one for each Region.
        active, mode, limits, cache, clock: see `EnvelopeKeys`.

    Raises:
        ConfigurationError: a key's id or a name is malformed.
        MissingExtraError: boto3 is not installed.
    """

    def __init__(
        self,
        key: str | KeyWrapper | Mapping[str, str | KeyWrapper],
        *,
        client: BaseClient | None = None,
        active: Sequence[str] | None = None,
        mode: Mode = "full",
        limits: DataKeyLimits | None = None,
        cache: CacheLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def root(given: str | KeyWrapper) -> KeyWrapper:
            return KmsRoot(given, client=client) if isinstance(given, str) else given

        roots = {name: root(given) for name, given in key.items()} if isinstance(key, Mapping) else root(key)
        super().__init__(roots, active=active, mode=mode, limits=limits, cache=cache, clock=clock)


def _client(region: str | None) -> BaseClient:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import NoRegionError
    except ImportError as exc:
        raise MissingExtraError("AWS KMS needs boto3: pip install 'sealpoint[kms]'") from exc
    config = Config(
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        tcp_keepalive=True,
    )
    try:
        client: BaseClient = boto3.client("kms", region_name=region, config=config)
    except NoRegionError as exc:
        raise ConfigurationError("no AWS Region: name the KMS key by its ARN, or set AWS_DEFAULT_REGION") from exc
    return client


def _translated(exc: Exception, operation: str, key_id: str) -> SealpointError:
    """Our error for one of boto3's: the one place where they are told apart. The service's own text stays in the chained exception."""
    from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError, ParamValidationError  # noqa: A004  # its name

    if isinstance(exc, ClientError):
        code = exc.response.get("Error", {}).get("Code", "")
        status = exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
        if code in _FORGED:
            return AuthenticationError("the wrapped data key does not open: it was damaged, forged or moved, or another root wrapped it")
        if code in _PASSING or status == 429 or status >= 500:
            return KeyServiceUnavailableError(f"KMS answered {operation} with {code or status} for {key_id}; try again later")
        return KeyRefusedError(
            f"KMS refused {operation} with {code} for {key_id}: check that the key is enabled and not pending deletion, that the role's "
            "and the key's policies allow it, and that the credentials are valid"
        )
    if isinstance(exc, (HTTPClientError, ConnectionError)):
        return KeyServiceUnavailableError(f"KMS is out of reach for {operation} with {key_id} ({type(exc).__name__}); try again later")
    if isinstance(exc, ParamValidationError):
        return ConfigurationError(f"boto3 does not take the parameters of {operation} for {key_id}")
    if isinstance(exc, BotoCoreError):
        return KeyRefusedError(f"no usable AWS credentials for {operation} with {key_id} ({type(exc).__name__}): check their source")
    return KeyRefusedError(f"the KMS client failed {operation} for {key_id} with {type(exc).__name__}")

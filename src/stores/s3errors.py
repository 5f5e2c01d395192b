"""What botocore and S3-compatible servers raise, as our errors: the one place where they are translated; it makes no requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError, PartialCredentialsError
from urllib3.exceptions import HTTPError

from ..errors import (
    ConfigurationError,
    ConflictError,
    NotFoundError,
    SealpointError,
    StoreAccessError,
    StoreUnavailableError,
    StoreUnsupportedError,
)

# S3 API reference, "Error responses". 409 ConditionalRequestConflict: another conditional write was under way.
_CONFLICT: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412"})
_ABSENT: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_UNSUPPORTED: Final = frozenset({"NotImplemented", "MethodNotAllowed"})
_PASSING: Final = frozenset(
    {
        "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "Throttling", "ThrottlingException", "TooManyRequests",
        "OperationAborted", "RequestTimeTooSkewed", "BandwidthLimitExceeded", "IncompleteBody", "503", "500", "502", "504", "429",
        "409",
    }
)  # fmt: skip
_HINTS: Final = {
    "NoSuchBucket": "make the bucket, or correct its name",
    "404": "make the bucket, or correct its name or the endpoint",
    "301": "set the bucket's own region",
    "AccessDenied": "grant the permission (docs/object-store.md has least-privilege policies), or check for an Object Lock",
    "403": "grant the permission (docs/object-store.md has least-privilege policies)",
    "InvalidAccessKeyId": "check the credentials",
    "SignatureDoesNotMatch": "check the credentials and the endpoint",
    "ExpiredToken": "renew the credentials",
    "PermanentRedirect": "set the bucket's own region",
    "AuthorizationHeaderMalformed": "set the bucket's own region",
    "IllegalLocationConstraintException": "set the bucket's own region",
}


# botocore.validate, ParamValidator: the report has a line for each fault, with the parameter's value in it.
_UNKNOWN: Final = re.compile(r'^Unknown parameter in [\w.\[\]]+: "([\w.-]{1,64})"', re.MULTILINE)
_INVALID: Final = re.compile(r"^Invalid [\w ]+ for parameter (\w{1,64})", re.MULTILINE)


@contextmanager
def translated(operation: str, key: str, *, matching: bool = False) -> Iterator[None]:
    """Raises our errors for theirs.

    Args:
        operation: the S3 action.
        key: the key or prefix it was about.
        matching: whether it was to replace an object it named: none there is a conflict.
    """
    try:
        yield
    except SealpointError:
        raise
    except ClientError as exc:
        error = exc.response.get("Error", {})
        status = exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        raise of_code(operation, key, str(error.get("Code", status)), status, matching=matching) from exc
    except (NoCredentialsError, PartialCredentialsError) as exc:
        raise StoreAccessError(f"{operation}: there are no credentials for S3; give a client, or set them as boto3 expects them") from exc
    except ParamValidationError as exc:
        raise _of_report(operation, str(exc)) from None  # the report shows values, and one of them may be a customer's key
    except (BotoCoreError, HTTPError, OSError) as exc:
        raise StoreUnavailableError(
            f"{operation} of {key!r} had no answer ({type(exc).__name__}); it may or may not have happened"
        ) from exc


def of_code(operation: str, key: str, code: str, status: int = 0, *, matching: bool = False) -> SealpointError:
    """The error for what a server answered, as a whole or for one key of a batch; see `translated`."""
    if code in _CONFLICT or status == 412 or (matching and code in _ABSENT):
        return ConflictError(f"{operation} of {key!r}: the object was written, changed or removed since it was read")
    if code in _ABSENT and operation == "s3:GetObject":
        return NotFoundError(f"no object {key!r}")
    if code in _UNSUPPORTED:
        return StoreUnsupportedError(f"{operation} of {key!r}: the store answers {code}: it lacks what this needs")
    if code in _PASSING or status >= 500:
        return StoreUnavailableError(f"{operation} of {key!r} was answered {code} again and again; try later")
    if code == "KeyTooLongError":
        return ConfigurationError(f"{operation}: the key is too long with the store's prefix; use a shorter prefix")
    hint = _HINTS.get(code, "see the cause")
    return StoreAccessError(f"{operation} of {key!r} was answered {code}: {hint}")


def _of_report(operation: str, report: str) -> ConfigurationError:
    """The error for arguments that were not sent, because botocore knows that S3 does not take them: their names, without their values."""
    unknown, invalid = sorted(set(_UNKNOWN.findall(report))), sorted(set(_INVALID.findall(report)))
    told = [f"there is no parameter {', '.join(unknown)}"] * bool(unknown) + [f"not a value for {', '.join(invalid)}"] * bool(invalid)
    refused = "; ".join(told) or "botocore refuses the bucket or a parameter"
    return ConfigurationError(f"{operation} was not sent: {refused}; correct put_args, or the bucket's name")


def etag_of(response: Any) -> str:
    """The etag of an answer."""
    return str(response["ETag"])

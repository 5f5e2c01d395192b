"""The whole error tree, branched by what the caller does next; it does not format secrets, and never sees one.

Branches and what to do:

===========================  ==================================================  =========
class                        what the caller does next                           exit code
===========================  ==================================================  =========
`ConfigurationError`         fix the configuration                               2
`KeyAccessError`             supply (or stop withholding) a key                  3
`IntegrityError`             treat the stored data as damaged, forged or moved   4
`ValueNotStorableError`      change the value, or register a codec for its type  5
`RetryableError`             try again                                           6
`NotFoundError`              look elsewhere: nothing has that name               7
===========================  ==================================================  =========

Messages name key ids and places, never key bytes and never plaintext. `AuthenticationError` is vague on purpose: which
check failed would help a forger and nobody else.
"""

from __future__ import annotations

from typing import ClassVar


class SealpointError(Exception):
    """The root: everything this package raises on purpose is one of these."""

    exit_code: ClassVar[int] = 1
    """The command line's exit status for this branch."""


# --- fix the configuration ----------------------------------------------------------------------------------------


class ConfigurationError(SealpointError):
    """Something was set up in a way that cannot work; nothing was read or written."""

    exit_code = 2


class KeyFormatError(ConfigurationError):
    """A key, a key id or a list of keys is malformed. The key itself is never shown."""


class NoKeyError(ConfigurationError):
    """There is no key anywhere: `sealpoint keygen` makes one and says where to put it."""


class MissingExtraError(ConfigurationError, ImportError):
    """An optional dependency is needed: the message names the extra to install."""


class TypeRefusedError(ConfigurationError):
    """A stored type is not on the allow-list that applies; it was neither imported nor built."""


class MissingTypeError(ConfigurationError):
    """A stored type cannot be found any more: the message names it, so that it can be restored or aliased."""


class SchemaDriftError(ConfigurationError):
    """A stored object no longer fits its class, and no default or policy says what to do."""


class StoreAccessError(ConfigurationError):
    """The store refuses: no such bucket, no permission, bad credentials, a full disk. The message names what to grant or fix."""


class StoreUnsupportedError(ConfigurationError):
    """The store lacks what this needs, for example conditional writes; use another store, or another way."""


# --- supply a key -------------------------------------------------------------------------------------------------


class KeyAccessError(SealpointError):
    """The value is (as far as its header says) sound, but the key for it is not at hand."""

    exit_code = 3


class UnknownKeyError(KeyAccessError):
    """The header names a key id that no configured key source holds: add that key, or restore it from escrow."""


class WrongKeyError(KeyAccessError):
    """A key with the header's id is configured, but it is another key: two keys were given one id."""


class KeyRefusedError(KeyAccessError):
    """A key service refused: the key is disabled, deleted or not permitted, or the credentials are wrong or have expired."""


class RevokedKeyError(KeyAccessError):
    """The key id is on the revoked list: nothing is sealed under it, and only a rotation job may open what is."""


class ThreadErasedError(KeyAccessError):
    """The key of this thread (or of this earlier life of it) was destroyed on purpose: no copy of the value opens any more.

    Nothing is to be repaired. A reader that would rather have a marker calls `sealpoint.keys.or_erased`. A new life of the thread begins
    with a checkpoint that has no parent, or with `ThreadKeys.reopen`.

    Args:
        message: what happened and what to do.
        erasure_id: the id that the receipt of the erasure carries.
        ended_at: when the key was destroyed, in seconds since 1970.
    """

    def __init__(self, message: str, erasure_id: str = "", ended_at: float = 0.0) -> None:
        super().__init__(message)
        self.erasure_id = erasure_id
        self.ended_at = ended_at


# --- data damaged, forged or moved --------------------------------------------------------------------------------


class IntegrityError(SealpointError):
    """The stored bytes are not what was written there. Nothing of them was parsed or returned."""

    exit_code = 4


class EnvelopeError(IntegrityError):
    """The bytes are not a well-formed envelope of a version this release reads."""


class AuthenticationError(IntegrityError):
    """The envelope was damaged, forged, relabelled or moved. Deliberately not finer than that."""


class NotSealedError(IntegrityError):
    """A plaintext or foreign value stands where a sealed one belongs."""


class TagError(IntegrityError):
    """The type tag names a layer or format that is unknown, missing or out of order."""


class CompressionError(IntegrityError):
    """A compressed value is damaged, has trailing bytes, or is larger than the ceiling."""


class DecodeError(IntegrityError):
    """The serialized bytes do not decode: they were not written by this serializer, or were changed since."""


class MissingObjectError(IntegrityError):
    """Something stored refers to an object that is not there any more: restore it from a backup, or go back to an older checkpoint."""


# --- the value cannot be stored -----------------------------------------------------------------------------------


class ValueNotStorableError(SealpointError):
    """The value cannot be stored so that it comes back equal; the message gives its path and type, never its content."""

    exit_code = 5


class ValueTooLargeError(ValueNotStorableError):
    """The serialized value exceeds a configured ceiling."""


# --- retry --------------------------------------------------------------------------------------------------------


class RetryableError(SealpointError):
    """A passing fault: nothing is known to be wrong, and the same call may succeed later."""

    exit_code = 6


class StoreUnavailableError(RetryableError):
    """The store did not answer, or asked to be called less often, and retries did not help. A write may or may not have happened."""


class ConflictError(RetryableError):
    """A conditional write found another object than it named: read it again and decide anew.

    After a lost answer it may be one's own write that is found, so the body of a compare-and-swap object carries a unique field to compare.
    """


class KeyServiceUnavailableError(RetryableError):
    """A key service is out of reach, overloaded or throttling; nothing was sealed. Its own retries are spent: try again later."""


class ThreadFencedError(RetryableError):
    """The thread was erased so recently that a late writer may still be under way: its id can be used again once the fence has passed."""


# --- nothing has that name ----------------------------------------------------------------------------------------


class NotFoundError(SealpointError):
    """Nothing is stored under that name."""

    exit_code = 7

"""Key sources: where the keys that seal and open come from."""

from .anyof import AnyOf
from .base import UNENCRYPTED, BlockingKeySource, Unencrypted
from .calls import CallReport
from .envelope import CacheLimits, DataKeyLimits, EnvelopeKeys
from .environment import langgraph_aes_keys
from .erasure import Erased, ErasureReceipt, aor_erased, erase, or_erased
from .keyring import Keyring
from .kms import KmsKeys, KmsRoot
from .local import LocalRoot
from .revoked import Revoking
from .rewrap import Rewrapper, needs_rewrap, transit_version_below
from .roots import Roots
from .rotation import RotationReport, rotate_roots
from .shelf import OldVersions
from .threadkeys import ThreadKeys
from .transit import TransitKeys, TransitRoot
from .within import all_thread_keys, thread_keys
from .wrapping import KeyGenerator, KeyWrapper, canonical

__all__ = [
    "UNENCRYPTED",
    "AnyOf",
    "BlockingKeySource",
    "CacheLimits",
    "CallReport",
    "DataKeyLimits",
    "EnvelopeKeys",
    "Erased",
    "ErasureReceipt",
    "KeyGenerator",
    "KeyWrapper",
    "Keyring",
    "KmsKeys",
    "KmsRoot",
    "LocalRoot",
    "OldVersions",
    "Revoking",
    "Rewrapper",
    "Roots",
    "RotationReport",
    "ThreadKeys",
    "TransitKeys",
    "TransitRoot",
    "Unencrypted",
    "all_thread_keys",
    "aor_erased",
    "canonical",
    "erase",
    "langgraph_aes_keys",
    "needs_rewrap",
    "or_erased",
    "rotate_roots",
    "thread_keys",
    "transit_version_below",
]

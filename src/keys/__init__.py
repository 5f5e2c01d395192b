"""Key sources: where the keys that seal and open come from."""

from .anyof import AnyOf
from .base import UNENCRYPTED, BlockingKeySource, Unencrypted
from .calls import CallReport
from .envelope import CacheLimits, DataKeyLimits, EnvelopeKeys
from .environment import langgraph_aes_keys
from .keyring import Keyring
from .kms import KmsKeys, KmsRoot
from .local import LocalRoot
from .revoked import Revoking
from .rewrap import Rewrapper
from .roots import Roots
from .transit import TransitKeys, TransitRoot
from .wrapping import KeyGenerator, KeyWrapper

__all__ = [
    "UNENCRYPTED",
    "AnyOf",
    "BlockingKeySource",
    "CacheLimits",
    "CallReport",
    "DataKeyLimits",
    "EnvelopeKeys",
    "KeyGenerator",
    "KeyWrapper",
    "Keyring",
    "KmsKeys",
    "KmsRoot",
    "LocalRoot",
    "Revoking",
    "Rewrapper",
    "Roots",
    "TransitKeys",
    "TransitRoot",
    "Unencrypted",
    "langgraph_aes_keys",
]

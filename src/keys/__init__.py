"""Key sources: where the keys that seal and open come from."""

from .base import UNENCRYPTED, BlockingKeySource, Unencrypted
from .environment import langgraph_aes_keys
from .keyring import Keyring

__all__ = ["UNENCRYPTED", "BlockingKeySource", "Keyring", "Unencrypted", "langgraph_aes_keys"]

"""Threads, namespaces and channels as the inner saver knows them: the real ones, or keyed tokens of them; it opens nothing.

Tokens keep what savers look at: a namespace keeps its ``|`` and ``:`` and its task ids, a channel that LangGraph reserves (``__…``) keeps
its name.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .tokens import Tokens

_NS_SEP: Final = "|"  # between the levels of a namespace, langgraph._internal._constants
_NS_END: Final = ":"  # between a node and its task id
_TASK: Final = re.compile(r"[0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A task id, or the number of a repeated call. A task of the functional API may have a ``:`` in its name."""


class Names:
    """How names go inward.

    Args:
        tokens: makes tokens; None when nothing is hidden.
        threads: thread ids are replaced.
        nodes: channel names, and node names in namespaces, are replaced.
    """

    def __init__(self, tokens: Tokens | None = None, *, threads: bool = False, nodes: bool = False) -> None:
        self._tokens = tokens
        self.threads = threads and tokens is not None
        self.nodes = nodes and tokens is not None
        self._made: dict[tuple[str, str], str] = {}

    @property
    def places(self) -> bool:
        """Whether a stored thread or namespace is not the real one."""
        return self.threads or self.nodes

    def thread(self, thread_id: Any) -> Any:
        """The stored id of a thread: as given, whatever its type, unless threads are hidden."""
        return self._token("thread", str(thread_id)) if self.threads else thread_id

    def ns(self, checkpoint_ns: Any) -> Any:
        """The stored namespace."""
        if not self.nodes or not checkpoint_ns:
            return checkpoint_ns
        return _NS_SEP.join(self._level(level) for level in str(checkpoint_ns).split(_NS_SEP))

    def channel(self, name: str) -> str:
        """The stored name of a channel."""
        return name if not self.nodes or name.startswith("__") else self._token("channel", name)

    def _level(self, level: str) -> str:
        node, end, task = level.rpartition(_NS_END)
        if not _TASK.fullmatch(task):
            return self._token("node", level) if level else level
        return (self._token("node", node) if node and not node.isdigit() else node) + end + task

    def _token(self, purpose: str, name: str) -> str:
        if self._tokens is None:
            return name
        found = self._made.get((purpose, name))
        if found is None:
            if len(self._made) > 10_000:
                self._made.clear()
            found = self._made[purpose, name] = self._tokens.name(purpose, name)
        return found

"""Which thread and namespace a config names, and the little of a config that an inner saver gets to see; it seals nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from langchain_core.runnables import RunnableConfig

THREAD: Final = "thread_id"
NS: Final = "checkpoint_ns"
ID: Final = "checkpoint_id"


class Place(NamedTuple):
    """The real thread and namespace, as text: what sealed values are bound to, whatever the inner saver stores.

    A tuple, since it is hashed for every cell.

    Args:
        thread: the thread id.
        ns: the checkpoint namespace, "" for the root graph.
    """

    thread: str
    ns: str


def place_of(config: RunnableConfig) -> Place:
    """The place that `config` names.

    Raises:
        KeyError: it has no thread_id, as LangGraph's savers raise it.
    """
    ids = config["configurable"]
    ns = ids.get(NS)
    return Place(str(ids[THREAD]), "" if ns is None else str(ns))


def narrowed(config: RunnableConfig, pass_through: Iterable[str] = ()) -> dict[str, Any]:
    """The ids of `config`, as they are and only if present, and the keys that the user named: all that goes inward."""
    ids: Mapping[str, Any] = config["configurable"]
    return {key: ids[key] for key in (THREAD, NS, ID, *pass_through) if key in ids}

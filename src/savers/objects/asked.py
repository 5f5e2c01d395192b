"""What a caller asks for, as the plans take it: a config's place, a filter as a rule, a strategy that exists; it makes no requests."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from ...errors import ConfigurationError
from .layout import Place
from .read import Accept


def place_of(config: RunnableConfig) -> Place:
    """The place that `config` names.

    Raises:
        ConfigurationError: it names no thread.
    """
    configurable = config.get("configurable") or {}
    if "thread_id" not in configurable:
        raise ConfigurationError("a checkpointer needs a thread_id: pass config={'configurable': {'thread_id': …}}")
    namespace = configurable.get("checkpoint_ns")
    return Place(str(configurable["thread_id"]), "" if namespace is None else str(namespace))


def id_of(config: RunnableConfig) -> str | None:
    """The checkpoint id that `config` names, if it names one."""
    found = get_checkpoint_id(config)
    return str(found) if found else None


def as_asked(config: RunnableConfig, found: CheckpointTuple | None) -> CheckpointTuple | None:
    """Asked for by its id, a checkpoint carries the caller's own config, as from LangGraph's savers."""
    return found if found is None or id_of(config) is None else found._replace(config=config)


def accepting(wanted: dict[str, Any]) -> Accept:
    """InMemorySaver's rule: every field equals."""
    return lambda metadata: all(value == metadata.get(key) for key, value in wanted.items())


def check_strategy(strategy: str) -> None:
    """Nothing, if `prune` knows the strategy.

    Raises:
        ConfigurationError: it does not.
    """
    if strategy not in ("keep_latest", "delete"):
        raise ConfigurationError(f"prune knows the strategies 'keep_latest' and 'delete', not {strategy!r}")

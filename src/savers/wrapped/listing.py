"""What a listing asks of the inner saver, and which of the opened checkpoints it lets through; the loops are the saver's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ...errors import AuthenticationError
from .clear import FILTERABLE
from .core import Core
from .filters import Matcher, survives
from .places import ID, NS, THREAD
from .reading import RawTuple, checked


@dataclass(frozen=True, slots=True)
class Listing:
    """One listing, planned.

    Args:
        core: opens.
        config: the caller's config, inward.
        before: the caller's cursor, inward.
        filters: what the inner saver filters by; with several, each is asked and the answers are joined.
        matcher: decides after opening; None when the inner saver's answer is final.
        inner_limit: goes inward; None when the matcher may still drop something.
        limit: how many are let through.
    """

    core: Core
    config: RunnableConfig | None
    before: RunnableConfig | None
    filters: tuple[dict[str, Any] | None, ...]
    matcher: Matcher | None
    inner_limit: int | None
    limit: int | None

    @classmethod
    def plan(
        cls, core: Core, config: RunnableConfig | None, wanted: Mapping[str, Any] | None, before: RunnableConfig | None, limit: int | None
    ) -> Listing:
        """A listing that gives what the bare saver would.

        What savers can see of a filter goes inward; declared fields go inward as tokens; the whole filter is decided again after opening.

        Raises:
            ValueError: from the inner saver's own check of the filter's keys.
        """
        inner_config = None if config is None else core.inward(config)
        inner_before = None if before is None else core.inward(before)
        if not wanted:
            return cls(core, inner_config, inner_before, (None,), None, limit, limit)
        seen = {key: value for key, value in wanted.items() if key in FILTERABLE and type(value) in (str, int) and survives(value)}
        matcher = core.profile.rule(wanted)
        if len(seen) == len(wanted):
            return cls(core, inner_config, inner_before, (seen,), matcher, limit, limit)
        # What a negative number means is the inner saver's to say: no limit, nothing, an error.
        inner_limit = limit if limit is not None and limit < 0 else None
        return cls(core, inner_config, inner_before, _with_tokens(core, wanted, seen), matcher, inner_limit, limit)

    def calls(self) -> Iterator[dict[str, Any]]:
        """The keyword arguments of each call on the inner saver."""
        for wanted in self.filters:
            yield {"filter": wanted or None, "before": self.before, "limit": self.inner_limit}

    def wants_more(self, given: int) -> bool:
        """Whether another checkpoint may be given; asked before the inner saver is."""
        return self.limit is None or self.inner_limit is not None or given < self.limit

    @property
    def joined(self) -> bool:
        """Whether several answers must be joined before the first checkpoint can be given."""
        return len(self.filters) > 1

    def join(self, rows: list[RawTuple]) -> list[RawTuple]:
        """Each checkpoint once, newest id first: the order of the savers that `plan` asks several times."""
        unique = {tuple(str(row.config["configurable"].get(key)) for key in (THREAD, NS, ID)): row for row in rows}
        return [unique[key] for key in sorted(unique, key=lambda key: key[2], reverse=True)]

    def accept(self, raw: RawTuple) -> CheckpointTuple | None:
        """The opened checkpoint, or None when the filter drops it.

        Raises:
            IntegrityError: it does not open where it lies, or lies elsewhere than was asked.
        """
        core = self.core
        checked(raw)
        place = core.opener.place(raw)
        asked = {} if self.config is None else self.config["configurable"]
        ids = raw.config["configurable"]
        # Some savers take an empty namespace for any.
        if any(asked.get(key) and str(asked[key]) != str(ids.get(key)) for key in (THREAD, NS)):
            raise AuthenticationError("the saver listed a checkpoint of another thread or namespace than it was asked for")
        opened = core.opener.open(raw, place, core.cache)
        if self.matcher is not None and not self.matcher(opened.metadata):
            return None
        if not core.names.places:
            return opened
        config: RunnableConfig = {**raw.config, "configurable": {**ids, THREAD: place.thread, NS: place.ns}}
        return opened._replace(config=config)


def _with_tokens(core: Core, wanted: Mapping[str, Any], seen: dict[str, Any]) -> tuple[dict[str, Any] | None, ...]:
    """`seen` with the tokens of one declared field for each live index key; only where answers can be joined in order."""
    if core.tokens is None or core.migrate or not core.profile.filters_any_key:  # an old checkpoint has no tokens
        return (seen,)
    filters = [seen]
    for field in core.fields:
        pairs = core.tokens.lookups(field, wanted[field]) if field in wanted else None
        if pairs is not None and (len(pairs) == 1 or (core.profile.newest_first and len(filters) == 1)):
            filters = [{**known, **pair} for known in filters for pair in pairs]
    return tuple(filters)

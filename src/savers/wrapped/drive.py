"""Runs one flow against a sync or an async saver; the flow itself, in `core`, knows neither.

A flow is a generator: it yields `Ask`s, is sent the inner saver's answers, and returns its result. The async driver runs what lies
between two asks in a worker thread, so that neither a large value nor a key service blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from ...errors import DecodeError
from .. import threads

T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Ask:
    """A call on the inner saver.

    Args:
        method: the sync method's name; the async one has an ``a`` before it.
        args: positional arguments.
        kwargs: keyword arguments.
    """

    method: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


Flow = Generator[Ask, Any, T]


def run(flow: Flow[T], inner: Any) -> T:
    """The flow's result, by the inner saver's sync methods.

    Raises:
        asyncio.InvalidStateError: the inner saver belongs to the event loop that this very thread runs: waiting for it would never end.
    """
    refuse_in_own_loop(inner)
    try:
        ask = next(flow)
        while True:
            with damage_named():
                answer = getattr(inner, ask.method)(*ask.args, **ask.kwargs)
                answer = list(answer) if ask.method == "list" else answer
            ask = flow.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def arun(flow: Flow[T], inner: Any) -> T:
    """The flow's result, by the inner saver's async methods."""
    answer: Any = None
    while True:
        ask, result = await threads.WORKERS.run(_step, flow, answer)
        if ask is None:
            made: T = result
            return made
        with damage_named():
            called = getattr(inner, f"a{ask.method}")(*ask.args, **ask.kwargs)
            answer = [item async for item in called] if ask.method == "list" else await called


@contextlib.contextmanager
def damage_named() -> Iterator[None]:
    """Around every call on an inner saver: what its own parser of JSON or text says of a stored row is an error of ours.

    That parser's errors only: they come from nothing but bytes that were read. Whatever else an inner saver raises may be a fault in the
    program, and passes.

    Raises:
        DecodeError: a stored row is damaged.
    """
    try:
        yield
    except (ValueError, TypeError, RecursionError) as exc:
        if not isinstance(exc, (json.JSONDecodeError, UnicodeDecodeError)) and _raised_in(exc) not in _PARSER:
            raise
        # Not chained: the foreign error quotes what was stored.
        raise DecodeError(
            "a stored row is not the JSON or text that the saver keeps there: it was damaged or replaced; restore it from a backup, or "
            "delete that checkpoint"
        ) from None


_PARSER: Final = ("json", "json.decoder", "json.scanner")  # `json.dumps` fails in json.encoder


def _raised_in(exc: BaseException) -> str:
    """The module of the innermost frame."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))


async def in_thread(work: Callable[[A], T], argument: A) -> T:
    """The result of `work`, done in a worker thread."""
    return await threads.WORKERS.run(work, argument)


def refuse_in_own_loop(inner: Any) -> None:
    """Raises instead of deadlocking, for every sync call on a saver that is bound to an event loop."""
    loop = getattr(inner, "loop", None)
    if loop is None:
        return
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return
    if running is loop:
        raise asyncio.InvalidStateError(
            f"a sync call on {type(inner).__name__} from inside its own event loop would wait for itself; "
            "use the async method (aget_tuple, aput, …, or `await graph.ainvoke(…)`), or call from another thread"
        )


def _step(flow: Flow[T], answer: Any) -> tuple[Ask | None, Any]:
    # StopIteration cannot cross a future, so it becomes a value here.
    try:
        return flow.send(answer), None
    except StopIteration as stop:
        return None, stop.value

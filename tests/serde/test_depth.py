"""Depth, cycles, sharing and threads: whatever is stored can be read, the limit is the same on every Python, and nothing hangs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sealpoint.errors import ValueNotStorableError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec.writer import MAX_LEVELS, MAX_NESTING
from tests.corpus.values import Cyclic, Plain, Simple, TreeNode, _deep
from tests.serde.compare import bare, differences
from tests.serde.extra import Node

CONTAINERS: dict[str, Callable[[Any], Any]] = {"list": lambda v: [v], "dict": lambda v: {"k": v}, "dict with int keys": lambda v: {1: v}}
OBJECTS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda v: (v,),
    "dataclass": lambda v: Plain(v),
    "model": lambda v: Simple.model_construct(a=v),
    "mixed": lambda v: {"a": [(v, 1)]},
    "pairs": lambda v: {1: {2: v}},
}


def nested(wrap: Callable[[Any], Any], times: int) -> Any:
    value: Any = 0
    for _ in range(times):
        value = wrap(value)
    return value


def back(value: Any) -> Any:
    return bare().loads_typed(bare().dumps_typed(value))


def deepest(wrap: Callable[[Any], Any], limit: int = 1100) -> int:
    """How often `wrap` can be applied before the value is refused; every value up to there is read back."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        try:
            bare().loads_typed(bare().dumps_typed(nested(wrap, middle)))
        except ValueNotStorableError:
            high = middle - 1
        else:
            low = middle
    return low


@pytest.mark.parametrize(("name", "limit"), [("list", MAX_NESTING), ("dict", MAX_NESTING)])
def test_plain_containers_nest_to_a_limit_that_does_not_depend_on_python(name: str, limit: int) -> None:
    assert deepest(CONTAINERS[name]) == limit


def test_the_limit_is_the_same_on_the_slow_path() -> None:
    wrap = CONTAINERS["list"]
    assert back([{1: 1}, nested(wrap, MAX_NESTING - 1)])[1] == nested(wrap, MAX_NESTING - 1)
    with pytest.raises(ValueNotStorableError):
        bare().dumps_typed([{1: 1}, nested(wrap, MAX_NESTING)])


@pytest.mark.parametrize("name", OBJECTS)
def test_other_objects_nest_to_their_own_limit(name: str) -> None:
    assert deepest(OBJECTS[name]) == (MAX_LEVELS if name != "pairs" else MAX_LEVELS // 2)


def test_depth_does_not_depend_on_how_deep_the_caller_is() -> None:
    def called_deep(levels: int) -> Any:
        return called_deep(levels - 1) if levels else back(nested(OBJECTS["mixed"], 200))

    assert differences(called_deep(sys.getrecursionlimit() - 400), nested(OBJECTS["mixed"], 200)) == []


def test_deep_and_wide_together() -> None:
    assert differences(back([_deep(100), [_deep(90)] * 3]), [_deep(100), [_deep(90)] * 3]) == []


# --- cycles ---------------------------------------------------------------------------------------------------------


def _tree(children: int) -> TreeNode:
    root = TreeNode("root")
    root.children = [TreeNode(str(number), parent=root) for number in range(children)]
    return root


def _plain_fan() -> Any:
    value: list[Any] = []
    value.extend([value, value, value])
    return value


def _through_a_tuple() -> Any:
    value: dict[str, Any] = {}
    value["t"] = (value, [value])
    return value


def _ring() -> Any:
    first = Node("0")
    node = first
    for number in range(1, 100):
        node.next = Node(str(number))
        node = node.next
    node.next = first
    return first


def _model_ring() -> Any:
    left, right = Cyclic(name="l"), Cyclic(name="r")
    left.other, right.other = {1: right}, [left, left]
    return left


@pytest.mark.parametrize("make", [lambda: _tree(1), lambda: _tree(300), _plain_fan, _through_a_tuple, _ring, _model_ring])
def test_a_cycle_is_refused_quickly_and_cleanly(make: Callable[[], Any]) -> None:
    start = time.monotonic()
    with pytest.raises(ValueNotStorableError, match=r"contains itself"):
        bare().dumps_typed({"a": make()})
    assert time.monotonic() - start < 20


def test_a_long_chain_without_a_cycle_is_no_cycle() -> None:
    chain = nested(lambda v: Node("n", v), 200)
    assert back(chain) == chain


def test_shared_objects_do_not_multiply() -> None:
    value: Any = Plain(1)
    for _ in range(100):
        value = Plain(value, value)
    tag, data = bare().dumps_typed(value)
    assert len(data) < 50_000
    found, levels = bare().loads_typed((tag, data)), 0
    while isinstance(found, Plain):
        found, levels = found.b if levels < 100 else None, levels + 1
    assert levels == 101


# --- threads --------------------------------------------------------------------------------------------------------


def test_one_serializer_in_many_threads() -> None:
    serde = bare()
    values = [{"n": number, "t": (number, {number}), "p": Plain(number, {1: number})} for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda v: serde.loads_typed(serde.dumps_typed(v)), values * 5)) == values * 5


def test_a_value_that_another_thread_changes_is_stored_or_refused() -> None:
    shared: dict[str, Any] = {"items": [1]}
    done = threading.Event()

    def change() -> None:
        number = 0
        while not done.is_set():
            number += 1
            shared[f"k{number % 50}"] = (number, [number])
            shared["items"] = [number] * (number % 7)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            try:
                tag, data = bare().dumps_typed(shared)
            except ValueNotStorableError:
                continue
            assert isinstance(bare().loads_typed((tag, data))["items"], list)
    finally:
        done.set()
        thread.join()


def test_dumps_of_one_thread_are_not_those_of_another() -> None:
    serde = JsonPlus()
    markers = {serde.dumps_typed((1,))[1][1:9] for _ in range(1000)}
    assert len(markers) == 1000

"""The memory store keeps the contract, and its fault switches do what they say."""

from __future__ import annotations

import pytest

from sealpoint.errors import NotFoundError, StoreUnavailableError
from sealpoint.stores import Fault, MemoryStore, Stopped
from tests.stores.contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


def test_a_refused_write_has_not_happened() -> None:
    store = MemoryStore()
    store.faults.plan(Fault("put", "refuse"))
    with pytest.raises(StoreUnavailableError):
        store.put("k", b"1")
    with pytest.raises(NotFoundError):
        store.get("k")
    store.put("k", b"2")


def test_a_write_whose_answer_is_lost_has_happened() -> None:
    store = MemoryStore()
    store.faults.plan(Fault("put", "lost_reply", key_contains="k", skip=1))
    store.put("k", b"1")
    with pytest.raises(StoreUnavailableError):
        store.put("k", b"2")
    assert store.get("k").data == b"2"


def test_a_stop_is_no_ordinary_exception() -> None:
    store = MemoryStore()
    store.faults.plan(Fault("get", "stop"))
    assert not issubclass(Stopped, Exception)
    with pytest.raises(Stopped):
        store.get("k")


def test_requests_are_counted_by_the_page() -> None:
    store = MemoryStore()
    for number in range(1001):
        store.put(f"k{number}", b"")
    store.faults.clear()
    assert len(list(store.list())) == 1001
    store.delete_many([f"k{number}" for number in range(1001)])
    assert store.faults.requests == {"list": 2, "delete": 2}


def test_a_store_can_be_made_to_ignore_conditions() -> None:
    store = MemoryStore()
    store.faults.ignore_conditions = True
    store.put("k", b"1")
    store.put("k", b"2", if_absent=True)
    assert store.get("k").data == b"2"

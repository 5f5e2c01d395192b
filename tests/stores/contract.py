"""What is true of every object store: one suite, run by each implementation through a `store` fixture."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from sealpoint.errors import ConfigurationError, ConflictError, NotFoundError, SealpointError
from sealpoint.stores import ObjectStore

T = TypeVar("T")


async def _all(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def _keys(store: ObjectStore, prefix: str = "", **options: object) -> list[str]:
    return [entry.key for entry in store.list(prefix, **options)]  # type: ignore[arg-type] # the options under test


class StoreContract:
    """Subclasses give a `store` fixture: an empty `ObjectStore`."""

    many = 1005
    """Objects that are more than one page: S3 lists and deletes a thousand in one request."""

    keeps_folders = False
    """True for a server that sorts folder by folder, and collapses empty segments: the keys below then avoid what differs."""

    def test_is_an_object_store(self, store: ObjectStore) -> None:
        assert isinstance(store, ObjectStore)

    @pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 5000], ids=["empty", "one byte", "1.3 MB"])
    def test_get_gives_back_what_put_stored(self, store: ObjectStore, data: bytes) -> None:
        etag = store.put("a/b", data)
        assert store.get("a/b").data == data
        assert store.get("a/b").etag == etag

    def test_an_absent_object_is_not_found(self, store: ObjectStore) -> None:
        store.put("a/b", b"1")
        for key in ("a", "a/b-", "a/c", "b"):
            with pytest.raises(NotFoundError):
                store.get(key)

    def test_put_replaces_and_changes_the_etag(self, store: ObjectStore) -> None:
        first = store.put("k", b"1")
        second = store.put("k", b"2")
        assert store.get("k").data == b"2"
        assert first != second

    def test_put_if_absent_stores_only_the_first(self, store: ObjectStore) -> None:
        store.put("k", b"1", if_absent=True)
        with pytest.raises(ConflictError):
            store.put("k", b"2", if_absent=True)
        assert store.get("k").data == b"1"

    def test_put_if_match_follows_the_etag(self, store: ObjectStore) -> None:
        first = store.put("k", b"1")
        second = store.put("k", b"2", if_match=first)
        with pytest.raises(ConflictError):
            store.put("k", b"3", if_match=first)
        assert store.get("k").data == b"2"
        store.put("k", b"4", if_match=second)
        assert store.get("k").data == b"4"

    def test_put_if_match_on_nothing_is_a_conflict(self, store: ObjectStore) -> None:
        etag = store.put("k", b"1")
        store.delete_many(["k"])
        with pytest.raises(ConflictError):
            store.put("k", b"2", if_match=etag)
        with pytest.raises(NotFoundError):
            store.get("k")

    def test_both_conditions_at_once_are_refused(self, store: ObjectStore) -> None:
        with pytest.raises(ConfigurationError, match="not both"):
            store.put("k", b"1", if_absent=True, if_match="x")

    def test_list_is_in_byte_order_across_folders(self, store: ObjectStore) -> None:
        keys = ["a/1", "a/b/c", "aa", "A", "Z/z", "_", "0", "a/b/-"] + ["a-", "a-b", "a/b-"] * (not self.keeps_folders)
        for key in keys:
            store.put(key, key.encode())
        assert _keys(store) == sorted(keys)
        sizes = {entry.key: entry.size for entry in store.list()}
        assert sizes == {key: len(key) for key in keys}

    @pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b", "a/b/", "b", "a-b", "nothing", "nothing/", "../", "a//", "/"])
    def test_list_keeps_to_the_prefix(self, store: ObjectStore, prefix: str) -> None:
        keys = ["a/1", "a/b/c", "a/bc/d", "b/a"] + ["a-", "a/b-"] * (not self.keeps_folders)
        if self.keeps_folders and prefix in ("a//", "/"):
            pytest.skip("this server takes empty segments out of a prefix; no key has any")
        for key in keys:
            store.put(key, b"")
        assert _keys(store, prefix) == sorted(key for key in keys if key.startswith(prefix))

    @pytest.mark.parametrize("start_after", ["a", "a/", "a/1", "a/11", "a/b", "a/b/", "a/b/c", "a/b/d", "zzz"])
    def test_list_starts_after_a_key_that_need_not_exist(self, store: ObjectStore, start_after: str) -> None:
        keys = ["a/1", "a/2", "a/b", "a/b-", "a/b.c"] + ["a-", "a/c/c", "b/a"] * (not self.keeps_folders)
        for key in keys:
            store.put(key, b"")
        if not self.keeps_folders:
            assert _keys(store, start_after=start_after) == sorted(key for key in keys if key > start_after)
        if self.keeps_folders and start_after.startswith("a/b/"):
            pytest.skip("to this server a/b/… lies in a folder a/b; no key of ours is a folder of another")
        assert _keys(store, "a/", start_after=start_after) == sorted(k for k in keys if k > start_after and k.startswith("a/"))

    def test_list_stops_at_the_limit(self, store: ObjectStore) -> None:
        for number in range(5):
            store.put(f"k{number}", b"")
        assert _keys(store, limit=0) == []
        assert _keys(store, limit=2) == ["k0", "k1"]
        assert _keys(store, limit=9) == ["k0", "k1", "k2", "k3", "k4"]

    def test_list_says_when_an_object_was_written(self, store: ObjectStore) -> None:
        import time

        store.put("k", b"")
        (entry,) = store.list()
        assert abs(entry.modified - time.time()) < 60

    def test_folders_are_the_next_segments(self, store: ObjectStore) -> None:
        for key in ("a/1", "a/b/c", "b-/x", "b/x/y", "c"):
            store.put(key, b"")
        assert list(store.folders()) == ["a", "b", "b-"] or list(store.folders()) == ["a", "b-", "b"]
        assert list(store.folders("a/")) == ["b"]
        assert list(store.folders("nothing/")) == []
        assert list(store.folders(start_after="a")) == [name for name in store.folders() if name > "a"]

    def test_a_folder_is_gone_with_its_last_object(self, store: ObjectStore) -> None:
        store.put("a/b/c", b"")
        store.delete_many(["a/b/c"])
        assert list(store.folders()) == []
        assert _keys(store) == []

    def test_delete_takes_absent_keys_and_none_at_all(self, store: ObjectStore) -> None:
        store.put("a/b", b"")
        store.put("a/c", b"")
        store.delete_many([])
        store.delete_many(["a/b", "a/nothing", "x/y"])
        assert _keys(store) == ["a/c"]

    def test_list_and_delete_go_past_a_page(self, store: ObjectStore) -> None:
        keys = [f"many/{number:04d}" for number in range(self.many)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda key: store.put(key, b""), keys))
        assert _keys(store, "many/") == keys
        store.delete_many(iter(keys))
        assert _keys(store, "many/") == []

    @pytest.mark.parametrize(
        "key", ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/./b", ".a", "a b", "ä", "a\nb", "a" * 256, "a/" * 512 + "a"]
    )
    def test_what_is_no_key_is_refused_before_anything_happens(self, store: ObjectStore, key: str) -> None:
        for call in (lambda: store.get(key), lambda: store.put(key, b""), lambda: store.delete_many(["ok", key])):
            with pytest.raises(ConfigurationError, match="not an object key"):
                call()

    def test_the_longest_keys_are_taken(self, store: ObjectStore) -> None:
        key = "/".join(["s" * 255] * 3 + ["t" * 200])
        store.put(key, b"1")
        assert store.get(key).data == b"1"
        assert _keys(store) == [key]
        store.delete_many([key])

    def test_one_of_many_racing_writers_is_the_first(self, store: ObjectStore) -> None:
        barrier = threading.Barrier(3)

        def attempt(number: int) -> bool:
            barrier.wait()
            try:
                store.put("race", b"%d" % number, if_absent=True)
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(3) as pool:
            won = list(pool.map(attempt, range(3)))
        assert won.count(True) == 1
        assert store.get("race").data == b"%d" % won.index(True)

    def test_racing_compare_and_swap_loses_no_update(self, store: ObjectStore) -> None:
        store.put("counter", b"0.start")

        def add(name: str) -> None:
            done = 0
            while done < 3:
                read = store.get("counter")
                count, _, _ = read.data.partition(b".")
                try:
                    store.put("counter", b"%d.%s%d" % (int(count) + 1, name.encode(), done), if_match=read.etag)
                except ConflictError:
                    continue
                done += 1

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(add, ["a", "b"]))
        assert store.get("counter").data.startswith(b"6.")

    def test_async_does_the_same(self, store: ObjectStore) -> None:
        async def scenario() -> None:
            etag = await store.aput("a/1", b"1", if_absent=True)
            await asyncio.gather(*(store.aput(f"a/{n}", b"%d" % n) for n in range(2, 9)))
            assert (await store.aget("a/1")).etag == etag
            found = await asyncio.gather(*(store.aget(f"a/{n}") for n in range(1, 9)))
            assert [stored.data for stored in found] == [b"%d" % n for n in range(1, 9)]
            with pytest.raises(ConflictError):
                await store.aput("a/1", b"", if_absent=True)
            with pytest.raises(ConflictError):
                await store.aput("a/2", b"", if_match=etag)
            await store.aput("a/1", b"one", if_match=etag)
            assert [entry.key for entry in await _all(store.alist("a/", start_after="a/3", limit=2))] == ["a/4", "a/5"]
            assert await _all(store.afolders()) == ["a"]
            await store.adelete_many([f"a/{n}" for n in range(1, 9)])
            with pytest.raises(NotFoundError):
                await store.aget("a/1")
            assert await _all(store.alist()) == []

        asyncio.run(scenario())
        asyncio.run(scenario())  # a second event loop, the same store

    def test_sync_sees_what_async_wrote_and_the_other_way(self, store: ObjectStore) -> None:
        async def scenario() -> None:
            await store.aput("k", b"1")
            assert store.get("k").data == b"1"
            store.put("k", b"2")
            assert (await store.aget("k")).data == b"2"

        asyncio.run(scenario())

    def test_no_error_shows_the_data(self, store: ObjectStore) -> None:
        store.put("k", b"1")
        with pytest.raises(SealpointError) as caught:
            store.put("k", b"the-secret", if_absent=True)
        assert "the-secret" not in str(caught.value)
        assert "the-secret" not in repr(store)

    def test_closing_twice_is_no_error(self, store: ObjectStore) -> None:
        asyncio.run(store.aput("k", b"1"))
        store.close()
        store.close()

"""Requests counted at the wire before a real S3 server, and storms, lost, cut and doubled answers on it, with either client library."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")

from sealpoint import Keyring, ObjectSaver
from sealpoint.stores.s3 import S3Store
from tests.s3 import credentials, new_bucket
from tests.savers.chains import chain, config, ids, put
from tests.services import Service
from tests.wire import Wire, counting

pytestmark = pytest.mark.services

BIG = secrets.token_hex(5000)


@pytest.fixture(scope="module")
def wire(s3_seaweedfs: Service) -> Iterator[Wire]:
    with counting(s3_seaweedfs.port) as made:
        yield made


@pytest.fixture(scope="module", params=["auto", "boto3"])
def store(request: pytest.FixtureRequest, wire: Wire, s3_seaweedfs: Service) -> Iterator[S3Store]:
    with pytest.MonkeyPatch.context() as patch:
        credentials(patch)
        store = S3Store(new_bucket(s3_seaweedfs), endpoint_url=wire.url, engine=request.param)
        if request.param == "auto":
            pytest.importorskip("obstore", reason="obstore is not installed (extra s3)")
        assert (store._fast() is not None) == (request.param == "auto")
        yield store
        store.close()


@pytest.fixture
def saver(store: S3Store, wire: Wire, keyring: Keyring, monkeypatch: pytest.MonkeyPatch) -> ObjectSaver:
    credentials(monkeypatch)
    monkeypatch.setattr(store, "prefix", f"{secrets.token_hex(4)}/")
    wire.planned.clear()
    wire.counts()
    return ObjectSaver(store, keyring)


async def test_the_budget_holds_at_the_wire(saver: ObjectSaver, wire: Wire) -> None:
    at = put(saver, config(), {"n": 1, "big": BIG})
    assert wire.counts() == {"put": 2}
    at = put(saver, at, {"n": 2, "big": BIG}, versions={"n": 2, "big": 1}, new={"n": 2})
    assert wire.counts() == {"put": 1}
    for task in ("t1", "t2", "t3"):
        await saver.aput_writes(at, [("a", 1), ("b", 2), ("c", 3)], task)
    assert wire.counts() == {"put": 3}
    found = await saver.aget_tuple(config())
    assert found is not None
    assert len(found.pending_writes or ()) == 9
    assert wire.counts() == {"list": 1, "get": 5}  # a checkpoint, three calls, one large value
    saver.get_tuple(at)
    assert wire.counts() == {"list": 1, "get": 5}
    assert len(ids(saver, config(), limit=10)) == 2
    assert wire.counts() == {"list": 1, "get": 6}
    saver.delete_thread("t")
    assert wire.counts() == {"list": 1, "delete": 2}  # checkpoints and writes, then the large value
    chain(saver, 3)
    wire.counts()
    saver.delete_thread("t")
    assert wire.counts() == {"list": 1, "delete": 1}


def test_storms_and_lost_answers_are_ridden_out(saver: ObjectSaver, wire: Wire) -> None:
    wire.plan(("put", "slow_down"), ("put", "slow_down"), ("put", "lost_reply"), ("put", "lost_request"), ("put", "duplicate"))
    stored = chain(saver, 2, values={"big": BIG})
    saver.put_writes(stored[-1], [("a", 1), ("__resume__", 2)], "task")
    wire.plan(("list", "lost_reply"), ("get", "slow_down"), ("get", "lost_reply"))
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 1, "big": BIG}
    assert found.pending_writes == [("task", "__resume__", 2), ("task", "a", 1)]
    wire.plan(("delete", "lost_reply"))
    saver.delete_thread("t")
    assert saver.get_tuple(config()) is None
    assert not wire.planned


async def test_an_answer_that_breaks_off_is_asked_for_again(saver: ObjectSaver, wire: Wire) -> None:
    put(saver, config(), {"n": 1})
    wire.plan(("get", "cut"))
    found = await saver.aget_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 1}
    assert not wire.planned

"""The demo's second half: the same agent on the object saver, in a folder or a bucket, everything sealed and bound to its place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from ...ciphers import looks_sealed
from ...errors import IntegrityError
from ...keys import Keyring
from ...savers import ObjectSaver
from ...savers.objects.format import parse_frame
from . import agent
from .claims import Claims, in_process, remark, title
from .scan import find

OTHER = "refund-0009"
Objects = dict[str, bytes]


def story(uri: str, key: str, claims: Claims, *, leave: bool = False) -> None:
    """Tells it, over the store that `uri` names.

    Args:
        uri: the store.
        key: the value of `SEALPOINT_KEYS`.
        claims: takes what is claimed.
        leave: leaves the thread that the story does not delete; otherwise nothing of it is left.
    """
    with ExitStack() as cleanup:
        saver = ObjectSaver.from_uri(uri, Keyring.parse(key))
        cleanup.callback(saver.store.close)
        for thread in (agent.THREAD, *(() if leave else (OTHER,))):
            cleanup.callback(saver.delete_thread, thread)

        title(f"7  The same agent on the object saver: {uri.partition('://')[0]}, no server, no schema")
        asked = in_process("start", "objects", uri, key)
        claims.check("it stops at its interrupt (process 1)", asked == agent.SECRETS["interrupt value"])
        answer = in_process("resume", "objects", uri, key)
        claims.check("it is resumed by another process (process 2)", answer == "3 checks passed, decision recorded.")

        title("8  What a thief of the store sees")
        stored = _objects(saver)
        claims.check(
            f"every one of {len(stored)} objects is sealed",
            bool(stored) and all(looks_sealed(parse_frame(data).cell) for data in stored.values()),
        )
        shown = find([*stored.values(), *(key.encode() for key in stored)], {**agent.SECRETS, "e-mail in metadata": agent.METADATA_SECRET})
        claims.check("no planted secret is in any object or key, the e-mail in the metadata included", not shown, ", ".join(shown))
        remark("ids, times and sizes stay readable in the keys; thread ids can be hashed (hash_threads=).")

        title("9  What happens to someone who changes the store")
        in_process("start", "objects", uri, key, OTHER)
        _tamper(saver, claims)

        title("10  Deleted is deleted")
        saver.delete_thread(agent.THREAD)
        left = [name for name in _objects(saver) if agent.THREAD in name]
        claims.check(
            "deleting the thread removes every object of it, and nothing of another", not left and _latest(saver, OTHER) is not None
        )


def _objects(saver: ObjectSaver) -> Objects:
    return {item.key: saver.store.get(item.key).data for item in saver.store.list()}


def _latest(saver: ObjectSaver, thread: str) -> object:
    return saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})


def _tamper(saver: ObjectSaver, claims: Claims) -> None:
    """Edits the newest checkpoint's object in several ways, each undone afterwards."""
    ours = sorted(name for name in _objects(saver) if name.startswith(f"t-{agent.THREAD}/n-/c/") and name.endswith(".c"))
    theirs = sorted(name for name in _objects(saver) if name.startswith(f"t-{OTHER}/n-/c/") and name.endswith(".c"))
    newest, genuine = ours[0], saver.store.get(ours[0]).data
    foreign, older = saver.store.get(theirs[0]).data, saver.store.get(ours[1]).data
    edits: dict[str, Callable[[bytes], bytes]] = {
        "one flipped bit": lambda data: data[:200] + bytes((data[200] ^ 1,)) + data[201:],
        "another customer's checkpoint put in its place": lambda _data: foreign,
        "an older checkpoint of the same thread put in its place": lambda _data: older,
        "plaintext in its place": lambda _data: b'{"channel_values": {}}',
    }
    for what, edit in edits.items():
        saver.store.put(newest, edit(genuine))
        try:
            _latest(saver, agent.THREAD)
            refusal = ""
        except IntegrityError as exc:
            refusal = type(exc).__name__
        saver.store.put(newest, genuine)
        claims.check(f"{what} is refused", bool(refusal), refusal)
    claims.check("the genuine object, put back, opens", _latest(saver, agent.THREAD) is not None)

"""The demo: it holds every claim it makes, leaves what it says it leaves, and says up front what it cannot do."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sealpoint import Keyring, ObjectSaver, SealedSaver
from sealpoint.cli import main
from sealpoint.errors import ConfigurationError

sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["demo", *args])


@pytest.mark.slow
def test_the_demo_holds_every_claim_it_makes_whatever_keys_the_user_has(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SEALPOINT_", "LANGGRAPH_"))}
    env |= {"LANGGRAPH_AES_KEY": "short", "SEALPOINT_KEYS": "no keys", "SEALPOINT_INDEX_KEYS": "none either"}
    command = [sys.executable, "-m", "sealpoint.cli", "demo", "--keep", str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All claims hold" in done.stdout
    assert "FAIL" not in done.stdout
    assert "the same move is refused by SealedSaver" in done.stdout

    again = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "not empty" in again.stderr

    # What is kept opens with the keys beside it, and nobody else may read those.
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "keys.env").stat().st_mode & 0o777 == 0o600
    keys = Keyring.parse((folder / "keys.env").read_text(encoding="utf-8").strip().partition("=")[2])
    assert len(keys.ids) == 2
    connection = sqlite3.connect(folder / "sealed.sqlite", check_same_thread=False)
    assert SealedSaver(sqlite.SqliteSaver(connection), keys).get_tuple({"configurable": {"thread_id": "refund-0007"}}) is not None
    connection.close()
    assert list(ObjectSaver.from_uri((folder / "objects").as_uri(), keys).threads()) == ["refund-0009"]
    assert "objects/ (the thread refund-0009" in done.stdout


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("memory://", "sees nothing of a store in memory"),
        ("ftp://host/x", "not a store's URI"),
        ("s3://bucket/p?nonsense=1", "no option 'nonsense'"),
        ("file:///proc/no/store", "cannot be made"),
        ("relative/folder", "not a store's URI"),
    ],
)
def test_a_place_that_cannot_be_worked_at_is_refused_before_anything_runs(uri: str, told: str, tmp_path: Path) -> None:
    if uri.startswith("s3:"):
        pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")
    done = run("--uri", uri, "--keep", str(tmp_path / "kept"))
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert told in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "kept").exists()


def test_a_place_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"1")
    done = run("--uri", tmp_path.as_uri())
    assert done.exit_code == 2
    assert "objects under the demo's --uri already" in done.stderr


def test_a_bucket_without_boto3_says_what_to_install_and_run() -> None:
    # In a process of its own: what was imported once stays imported.
    program = "import sys; sys.modules['boto3'] = None; from sealpoint.cli import main; main(['demo', '--uri', 's3://bucket/prefix'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "pip install 'sealpoint[demo,s3]'" in done.stderr
    assert "sealpoint demo --uri s3://" in done.stderr


def test_a_folder_that_cannot_be_made_is_an_error_not_a_traceback() -> None:
    done = run("--keep", "/proc/no")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")


def test_steps_get_the_demos_keys_and_none_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    from sealpoint.cli.demo.claims import environment

    for name in ("SEALPOINT_KEYS", "SEALPOINT_INDEX_KEYS", "LANGGRAPH_AES_KEY", "LANGGRAPH_AES_FALLBACK_KEYS", "LANGGRAPH_AES_LEGACY_KEY"):
        monkeypatch.setenv(name, "the user's")
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    given = environment("the demo's")
    assert given["SEALPOINT_KEYS"] == "the demo's"
    assert "the user's" not in given.values()
    assert given["LANGGRAPH_STRICT_MSGPACK"] == "true"


def test_the_demo_fails_when_a_claim_is_false(capsys: pytest.CaptureFixture[str]) -> None:
    from sealpoint.cli.demo.claims import Claims

    claims = Claims()
    claims.check("this holds", True)
    claims.check("this does not", False)
    assert claims.failed == 1
    assert "FAIL" in capsys.readouterr().out


def test_what_is_readable_beyond_the_list_is_found(tmp_path: Path) -> None:
    from sealpoint.cli.demo import agent, scan, sealed

    database = tmp_path / "x.sqlite"
    connection = sqlite3.connect(database, check_same_thread=False)
    agent.start(SealedSaver(sqlite.SqliteSaver(connection), Keyring.generate()))
    columns = set(scan.scan_columns(database, {}))
    assert list(sealed.beyond_the_list(database, columns)) == []
    (cell,) = connection.execute("select metadata from checkpoints limit 1").fetchone()
    connection.execute("update checkpoints set metadata = ?", (json.dumps({**json.loads(cell), "user": "ada"}),))
    connection.execute("update writes set value = 'ada'")
    paths = columns & {"writes.task_path"}  # older versions of the saver have no such column
    for column in paths:
        connection.execute(f"update writes set {column.partition('.')[2]} = 'ada'")  # noqa: S608 - a name written here
    connection.commit()
    connection.close()
    found = set(sealed.beyond_the_list(database, {*columns, "checkpoints.more"}))
    assert found == {"metadata.user", "writes.value", "checkpoints.more", *paths}


def test_a_step_that_fails_says_why() -> None:
    from sealpoint.cli.demo.claims import in_process

    with pytest.raises(ConfigurationError, match="start step failed"):
        in_process("start", "objects", "nowhere://", "k:AAAA")

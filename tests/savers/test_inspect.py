"""`sealpoint inspect` reads an object of the object saver as it lies in a bucket or folder."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from sealpoint import Keyring, ObjectSaver
from sealpoint.cli import main
from sealpoint.stores import FolderStore
from tests.savers.chains import config, put


def test_every_kind_of_object_says_which_key_it_is_under(tmp_path: Path, keyring: Keyring) -> None:
    saver = ObjectSaver(FolderStore(tmp_path, durable=False), keyring)
    at = put(saver, config("x" * 300), {"big": "x" * 9000})
    saver.put_writes(at, [("a", 1)], "task")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and ".locks" not in path.parts]
    assert len(files) == 3
    for path in files:
        done = CliRunner().invoke(main, ["inspect", "--json", str(path)])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["key_id"] == "new"

"""What happens without the extras: everything else works, and each optional feature fails where it is used, naming the extra.

Absence is simulated in a process of its own by an import hook, so the same tests hold whether an extra is installed here or not; continuous
integration also runs this file in an environment that really has none of them.
"""

import re
import subprocess
import sys
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import sealpoint

# What each extra brings, by import name.
MODULES = {
    "demo": ("langgraph.graph", "langgraph.pregel", "langgraph.checkpoint.sqlite"),
    "kms": ("boto3", "botocore"),
    "legacy": ("Crypto",),
    "s3": ("boto3", "botocore", "obstore"),
    "transit": ("hvac",),
}

# The least that uses each feature. With the extra installed, it fails otherwise or not at all.
USES = {
    "s3": "from sealpoint import S3Saver, Keyring; S3Saver('s3://bucket', Keyring.generate())",
    "demo": "from sealpoint.cli.demo.run import run; run(keep='.')",
    "kms": "from sealpoint.keys import KmsKeys; KmsKeys('alias/checkpoints')",
    "legacy": "from sealpoint.serde import LegacyReader; LegacyReader((bytes(16),)).plain('msgpack+aes', bytes(64))",
    "transit": "from sealpoint.keys import TransitKeys; TransitKeys('checkpoints')",
}

_BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == gone or name.startswith(gone + ".") for gone in {gone!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""

_WORK = """
import pkgutil, importlib
import sealpoint

for found in pkgutil.iter_modules(sealpoint.__path__, "sealpoint."):
    if found.name != "sealpoint.__main__":  # importing that one is running it
        importlib.import_module(found.name)

serde = sealpoint.sealed_serializer(sealpoint.Keyring({"k": bytes(range(32))}, active="k"))
assert serde.loads_typed(serde.dumps_typed({"a": [1, "x" * 1000]})) == {"a": [1, "x" * 1000]}
print("works")
"""

_TELL = """
try:
    {use}
except Exception as exc:
    print(type(exc).__name__, exc)
else:
    print("done")
"""


def run(code: str, *, without: tuple[str, ...] = ()) -> str:
    """What a new process prints that runs `code` in this environment, less the modules `without`."""
    program = _BLOCK.format(gone=without) + code
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def has(extra: str) -> bool:
    return all(find_spec(name.partition(".")[0]) and find_spec(name) for name in MODULES[extra])


def test_every_extra_that_is_declared_is_known_here_and_the_other_way_round():
    assert set(metadata("sealpoint").get_all("Provides-Extra") or ()) == set(MODULES)


def test_every_extra_that_an_error_names_is_declared_and_tested_here():
    sources = [path.read_text(encoding="utf-8") for path in Path(sealpoint.__file__).parent.rglob("*.py")]
    assert {name for text in sources for name in re.findall(r"sealpoint\[([\w-]+)\]", text)} == set(USES)


def test_without_any_extra_every_room_imports_and_values_are_sealed():
    gone = tuple(name for names in MODULES.values() for name in names)
    assert run(_WORK, without=gone) == "works\n"


@pytest.mark.parametrize("extra", USES)
def test_a_feature_without_its_extra_fails_where_it_is_used_and_names_it(extra):
    told = run(_TELL.format(use=USES[extra]), without=MODULES[extra])
    assert told.startswith("MissingExtraError")
    assert f"pip install 'sealpoint[{extra}]'" in told


@pytest.mark.parametrize("extra", USES)
def test_a_feature_misses_its_extra_exactly_when_it_is_not_installed(extra):
    told = run(_TELL.format(use=USES[extra]))
    assert told.startswith("MissingExtraError") is not has(extra)


@pytest.mark.parametrize("name", ["S3Store", "S3Versions"])
def test_a_store_that_needs_an_extra_names_it_when_it_is_imported_from_where_the_others_are(name):
    told = run(_TELL.format(use=f"from sealpoint.stores import {name}"), without=MODULES["s3"])
    assert told.startswith("MissingExtraError")
    assert "pip install 'sealpoint[s3]'" in told
    assert run(f"from sealpoint.stores import *\nprint('{name}' in globals())", without=MODULES["s3"]) == "False\n"


def test_the_command_line_exits_with_the_status_of_a_configuration_error():
    command = [sys.executable, "-I", "-c", _BLOCK.format(gone=MODULES["demo"]) + "from sealpoint.cli import main; main(['demo'])"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'sealpoint[demo]'" in done.stderr

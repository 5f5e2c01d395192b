"""The command line: what it prints where, and how it ends."""

import base64
import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from sealpoint import AesGcm, Context, Keyring
from sealpoint.cli import main

KEYRING = Keyring.generate("2026-11")
SEALED = AesGcm(KEYRING).encode(b"plaintext " * 10, "msgpack1", Context.unbound())


def run(*args, data=None):
    return CliRunner().invoke(main, args, input=data)


def test_keygen_prints_a_key_that_works_and_nothing_else_on_stdout():
    done = run("keygen", "--id", "2026-12")
    assert done.exit_code == 0
    assert Keyring.parse(done.stdout.strip()).active == "2026-12"
    assert "SEALPOINT_KEYS" in done.stderr
    assert done.stdout.strip().partition(":")[2] not in done.stderr


def test_keygen_names_the_key_by_the_day_and_never_gives_one_id_twice(monkeypatch):
    first, second = run("keygen").stdout.strip(), run("keygen").stdout.strip()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d:[A-Za-z0-9+/]{43}=", first)
    assert first != second
    monkeypatch.setenv("SEALPOINT_KEYS", first)
    rotated = f"{run('keygen').stdout.strip()},{first}"
    monkeypatch.setenv("SEALPOINT_KEYS", rotated)
    assert len(Keyring.parse(f"{run('keygen').stdout.strip()},{rotated}").ids) == 3
    made = json.loads(run("keygen", "--json", "--id", "x").stdout)
    assert Keyring.parse(f"{made['id']}:{made['key']}").active == "x"


def test_keygen_refuses_an_id_that_no_header_could_carry():
    done = run("keygen", "--id", "white space")
    assert done.exit_code == 2
    assert "A-Z" in done.stderr
    assert done.stdout == ""


FORMS = {
    "raw": SEALED,
    "hex": SEALED.hex().encode(),
    "upper hex, wrapped": b"\n".join(SEALED.hex().upper().encode()[i : i + 60] for i in range(0, 2 * len(SEALED), 60)),
    "postgres hex": b"\\x" + SEALED.hex().encode() + b"\n",
    "base64": base64.encodebytes(SEALED),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_inspect_reads_the_header_without_a_key(form):
    done = run("inspect", "--json", data=form)
    assert done.exit_code == 0, done.output
    (facts,) = json.loads(done.stdout)
    assert facts["where"] == ""
    assert facts["key_id"] == "2026-11"
    assert facts["key_kind"] == "keyring"
    assert facts["plain_bytes"] == 100
    assert facts["total_bytes"] == len(SEALED)
    shown = run("inspect", data=form)
    assert "2026-11" in shown.stdout
    assert "unverified" in shown.stderr


@pytest.mark.parametrize("data", [b"", b"plaintext", b"zz", SEALED[:20], b"\xc1SLP\x09\x01" + SEALED[6:]])
def test_inspect_says_what_is_wrong_and_ends_with_the_status_for_bad_data(data):
    done = run("inspect", "-", data=data)
    assert done.exit_code == 4
    assert done.stderr.startswith("error: ")
    assert done.stdout == ""


@pytest.mark.parametrize("form", [SEALED.hex().encode(), base64.b64encode(SEALED), b"\\x" + SEALED.hex().encode()])
def test_inspect_takes_one_value_at_a_time(form):
    done = run("inspect", data=form + b"\n" + form + b"\n")
    assert done.exit_code == 2
    assert "several values" in done.stderr


def test_the_module_runs_like_the_script():
    done = subprocess.run([sys.executable, "-m", "sealpoint", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: sealpoint [OPTIONS]")


def test_a_missing_file_is_a_mistake_in_the_command():
    assert run("inspect", "no/such/file").exit_code == 2


def test_help_teaches():
    done = run("--help")
    assert done.exit_code == 0
    for command in ("keygen", "inspect", "demo"):
        assert command in done.stdout
        assert "Exit status" in done.stdout
        shown = run(command, "-h")
        assert shown.exit_code == 0
        assert "\\b" not in shown.stdout
    assert re.match(r"sealpoint, version \d+\.\d+", run("--version").stdout)

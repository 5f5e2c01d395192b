"""A short run of the fuzzer; docs/spec/msgpack1.md says how long the long one was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_hostile_bytes_do_no_harm() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.serde.fuzz", "--inputs", "4000", "--seed", "20"]
    result = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    assert "DecodeError" in result.stdout
    assert "TypeRefusedError" in result.stdout
    assert "loaded" in result.stdout

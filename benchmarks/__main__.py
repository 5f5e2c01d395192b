"""`python -m benchmarks [NAME …]`: each benchmark in a process of its own, all of them by default; status 1 when a target is missed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

NAMES = ("pipeline", "zstd_level", "serde", "objects", "objects_clients", "sealed_saver", "keys")


def main(names: list[str]) -> int:
    """Runs the named benchmarks and returns the exit status."""
    missed = []
    for name in names or [name for name in NAMES if importlib.util.find_spec(f"benchmarks.{name}")]:
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False, cwd=Path(__file__).parents[1]).returncode:
            missed.append(name)
    print(f"\nmissed or failed: {', '.join(missed)}" if missed else "\nevery target held")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Prints what a CI run did, from the files that .ci/run left in a folder, and exits with 1 unless all of it passed; it runs nothing itself.

A step NAME leaves NAME.status (exit status, seconds), NAME.log, and NAME.xml (JUnit) if it ran tests; NAME.missing says why one could not.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it ended; `ran_tests` is None for a step that is no test run."""

    name: str
    status: int
    seconds: int
    ran_tests: bool | None = None
    passed: int = 0
    failed: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    closing: str = ""

    @property
    def result(self) -> str:
        """``ok``, or what is wrong. Tests that all were skipped, or were not found, are not ok."""
        if self.ran_tests is False:
            return "NO TESTS"
        return "ok" if self.status == 0 else "FAILED"

    def row(self) -> str:
        """Its line in the table."""
        counts = ("", "", "") if self.ran_tests is None else (self.passed, self.failed, self.skips.total())
        return f"{self.name:<16}{self.result:<10}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}{self.seconds:>9}"


def read(status_file: Path) -> Step:
    """The step that left `status_file` and its siblings."""
    name = status_file.name.removesuffix(".status")
    status, seconds = (int(word) for word in status_file.read_text(encoding="ascii").split())
    report = status_file.with_name(f"{name}.xml")
    if not report.exists():
        return Step(name, status, seconds)
    root = ET.parse(report)  # noqa: S314 - our own pytest wrote it
    skips = Counter(skip.get("message", "no reason given") for skip in root.iter("skipped"))
    count = {key: sum(int(suite.get(key, 0)) for suite in root.iter("testsuite")) for key in ("tests", "failures", "errors")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - skips.total()
    log = status_file.with_name(f"{name}.log").read_text(encoding="utf-8", errors="replace")
    return Step(name, status, seconds, passed + failed > 0, passed, failed, skips, _closing_line(log))


def _closing_line(log: str) -> str:
    """Pytest's own last line."""
    lines = re.findall(r"^=+ (?:\d+ |no tests ran).* in [\d.]+s.* =+$", log, re.MULTILINE)
    return lines[-1] if lines else "(pytest did not finish)"


def main(folder: Path) -> int:
    """Prints the table, the skips and the closing lines; 0 when there were steps and every one is ok."""
    steps = [read(path) for path in sorted(folder.glob("*.status"), key=lambda path: path.stat().st_mtime_ns)]
    print(f"\n{'step':<16}{'result':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for step in steps:
        print(step.row())
    for path in sorted(folder.glob("*.missing")):
        print(f"{path.name.removesuffix('.missing'):<16}not run   {path.read_text(encoding='utf-8').strip()}")

    reasons = Counter({reason: sum(step.skips[reason] for step in steps) for step in steps for reason in step.skips})
    print("\nskipped, and why:" if reasons else "\nnothing was skipped")
    for reason, count in sorted(reasons.items()):
        print(f"  {count:>4}  {reason}  ({', '.join(f'{step.name}: {step.skips[reason]}' for step in steps if reason in step.skips)})")

    print()
    for step in steps:
        if step.closing:
            print(f"{step.name:<16}{step.closing}")
    passed, failed = sum(step.passed for step in steps), sum(step.failed for step in steps)
    print(f"\n{passed} passed, {failed} failed, {reasons.total()} skipped")
    wrong = [step.name for step in steps if step.result != "ok"]
    if wrong:
        print(f"not ok: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong or not steps else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Prints what a CI run did, from the files that .ci/run left in a folder, and exits with 1 unless all of it passed; it runs nothing itself.

A step NAME leaves NAME.status (exit status, seconds), NAME.log, and NAME.xml (JUnit) if it ran tests; NAME.missing says why one could not.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def reasons(report: Path) -> Counter[str]:
    """Why tests were skipped, and how many for each reason."""
    return Counter(skip.get("message", "no reason given") for skip in ET.parse(report).iter("skipped"))  # noqa: S314 - our own pytest wrote it


def totals(report: Path) -> tuple[int, int, int]:
    """Tests passed, failed (errors too) and skipped."""
    suites = list(ET.parse(report).iter("testsuite"))  # noqa: S314 - our own pytest wrote it
    count = {key: sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    return count["tests"] - failed - count["skipped"], failed, count["skipped"]


def closing_line(log: Path) -> str:
    """Pytest's own last line."""
    lines = re.findall(r"^=+ (?:\d+ \w+(?:, )?|no tests ran)+.* in .*=+$", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return lines[-1] if lines else ""


def main(folder: Path) -> int:
    """Prints the table, the skips and the closing lines; 0 when every step passed and every test run ran tests."""
    statuses = sorted(folder.glob("*.status"), key=lambda path: path.stat().st_mtime_ns)
    passed = failed = skipped = broken = 0
    skips: Counter[str] = Counter()
    closing = []
    print(f"\n{'step':<16}{'result':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for path in statuses:
        name = path.stem
        status, seconds = path.read_text(encoding="ascii").split()
        report = folder / f"{name}.xml"
        counts: tuple[int | str, ...] = ("", "", "")
        ran = True
        if report.exists():
            counts = now = totals(report)
            passed, failed, skipped = passed + now[0], failed + now[1], skipped + now[2]
            ran = now[0] > 0
            skips.update({f"{reason}  [{name}]": count for reason, count in reasons(report).items()})
            closing.append(f"{name:<16}{closing_line(folder / f'{name}.log')}")
        result = "ok" if status == "0" and ran else "FAILED" if ran else "NO TESTS"
        broken += result != "ok"
        print(f"{name:<16}{result:<10}{counts[0]:>8}{counts[1]:>8}{counts[2]:>9}{seconds:>9}")
    for path in sorted(folder.glob("*.missing")):
        print(f"{path.stem:<16}{'not run':<10}  {path.read_text(encoding='utf-8').strip()}")
    print("\nskipped, and why:" if skips else "\nnothing was skipped")
    for text, count in sorted(skips.items()):
        print(f"  {count:>4}  {text}")
    print("\n" + "\n".join(closing))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    if broken:
        print(f"{broken} of {len(statuses)} steps failed", file=sys.stderr)
    return 1 if broken or not statuses else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

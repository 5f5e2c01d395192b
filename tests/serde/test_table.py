"""docs/serde-table.md is current: every value of the corpus, and how it fares here today."""

from __future__ import annotations

import pytest

from tests.corpus.values import CASES, Case
from tests.serde.make_table import TABLE, cell, ours, tried

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
ROWS = dict(line.removeprefix("| ").split(" | ")[:2] for line in TABLE.read_text(encoding="utf-8").splitlines() if line.count(" | ") == 3)


def test_the_page_lists_every_value() -> None:
    assert [case.name for case in CASES] == list(ROWS)[1:]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_page_is_current(case: Case) -> None:
    assert ROWS[case.name] == cell(tried(case, ours()))


def test_nothing_changes_silently() -> None:
    assert not [row for row in ROWS.values() if row.startswith("changed")]

"""What the parts of the demo share: claims that are printed with their outcome, titles, tables, and steps in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from ...errors import ConfigurationError
from ...keys.environment import LANGGRAPH_AES_FALLBACK_KEYS, LANGGRAPH_AES_KEY, LANGGRAPH_AES_LEGACY_KEY, SEALPOINT_KEYS
from ...savers.wrapped.saver import INDEX_KEYS
from .scan import Column

_KEY_VARIABLES = frozenset({SEALPOINT_KEYS, INDEX_KEYS, LANGGRAPH_AES_KEY, LANGGRAPH_AES_FALLBACK_KEYS, LANGGRAPH_AES_LEGACY_KEY})


class Claims:
    """Prints each claim with its outcome and counts those that do not hold."""

    def __init__(self) -> None:
        self.failed = 0

    def check(self, claim: str, held: bool, detail: str = "") -> None:
        """Prints `claim`, and counts it when it does not hold."""
        self.failed += not held
        mark = click.style("ok  ", fg="green") if held else click.style("FAIL", fg="red", bold=True)
        click.echo(f"  {mark} {claim}" + (f"  ({detail})" if detail else ""))


def title(text: str) -> None:
    """Prints the title of a step."""
    click.echo("\n" + click.style(text, bold=True))


def remark(text: str) -> None:
    """Prints a remark under a claim."""
    click.echo(f"       {text}")


def table(columns: dict[str, Column]) -> None:
    """Prints what each column of a file holds."""
    click.echo(f"       {'column':34}{'cells':>6}{'sealed':>8}  secrets in clear")
    for name, column in columns.items():
        sealed = str(column.sealed or (f"in {column.around}" if column.around else "-"))
        click.echo(f"       {name:34}{column.cells:>6}{sealed:>8}  {', '.join(sorted(column.found)) or '-'}")


def in_process(step: str, kind: str, where: str, keys: str, thread: str = "") -> str:
    """Runs one step of the agent in a process of its own, with the keys in its environment only, and returns what it prints.

    Args:
        step: ``start`` or ``resume``.
        kind: ``serde``, ``sealed`` or ``objects``: the saver, as `step.open_saver` makes it.
        where: a SQLite file, or a URI that `ObjectSaver.from_uri` takes.
        keys: the value of `SEALPOINT_KEYS`.
        thread: "" for the demo's usual one.

    Raises:
        ConfigurationError: the step failed; the message has the end of what it said.
    """
    done = subprocess.run(  # noqa: S603 - our own module, our own arguments
        [sys.executable, "-m", f"{__package__}.step", step, kind, where, *([thread] if thread else [])],
        env=environment(keys),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ConfigurationError(f"the demo's {step} step failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout.strip()


def environment(keys: str) -> dict[str, str]:
    """This process's environment with the demo's keys, and without the user's: those are not for the demo, and may be malformed."""
    return {**{name: value for name, value in os.environ.items() if name not in _KEY_VARIABLES}, SEALPOINT_KEYS: keys}

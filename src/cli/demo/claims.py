"""What both halves of the demo share: claims that are printed with their outcome, titles, and steps in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from ...errors import ConfigurationError
from ...keys.environment import SEALPOINT_KEYS


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


def in_process(step: str, where: str, keys: str, thread: str = "") -> str:
    """Runs one step of the agent in a process of its own, with the keys in its environment only, and returns what it prints.

    Args:
        step: ``start`` or ``resume``.
        where: a SQLite file, or a URI that `ObjectSaver.from_uri` takes.
        keys: the value of `SEALPOINT_KEYS`.
        thread: "" for the demo's usual one.

    Raises:
        ConfigurationError: the step failed; the message has the end of what it said.
    """
    done = subprocess.run(  # noqa: S603 - our own module, our own arguments
        [sys.executable, "-m", f"{__package__}.step", step, where, *([thread] if thread else [])],
        env={**os.environ, SEALPOINT_KEYS: keys},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ConfigurationError(f"the demo's {step} step failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout.strip()

"""The `sealpoint` command and how its errors are shown; each sub-command is a room of its own."""

from __future__ import annotations

import sys

import click

from ..errors import ConfigurationError, SealpointError
from .inspect import inspect
from .keygen import keygen

_EPILOG = """\b
Exit status: 0 done; 1 a claim of the demo is false; 2 fix the command or the configuration;
3 a key is missing or wrong; 4 data is damaged, forged or not sealed; 5 a value cannot be stored; 6 try again;
7 nothing has that name.
"""


class _Errors(click.Group):
    """Shows this package's errors as one line and a status, never as a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SealpointError as exc:
            click.echo(f"error: {exc}", err=True)
            sys.exit(exc.exit_code)
        except OSError as exc:
            click.echo(f"error: {exc.strerror or type(exc).__name__}: {exc.filename or 'standard output'}", err=True)
            sys.exit(ConfigurationError.exit_code)


@click.group(cls=_Errors, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sealpoint", prog_name="sealpoint")
def main() -> None:
    """Seals what LangGraph stores: lossless, compressed, encrypted, bound.

    Start with `sealpoint keygen`, then wrap the saver you use: sealpoint.SealedSaver(saver). `sealpoint demo` shows it at work.
    """


@main.command(short_help="Run a real agent over sealed stores, and prove the claims.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=str), help="Keep the demo's files and keys in this new folder.")
@click.option(
    "--uri",
    metavar="URI",
    help="Where the object saver works, an empty place: s3://bucket/prefix, or file:///folder (default: a local folder).",
)
def demo(keep: str | None, uri: str | None) -> None:
    """Run a real LangGraph agent over a sealed store, and prove the claims.

    The agent calls tools, runs a subgraph and parallel tasks, stops at an interrupt and is resumed in a second process: on SqliteSaver
    with the sealed serializer, on SqliteSaver in SealedSaver, and on the object saver. Each time the raw store is scanned for the secrets
    it was told, and tampered with; a key is rotated, a thread deleted. No network, no model. Status 1 if any claim is false.
    """
    from .demo.run import run

    sys.exit(0 if run(keep, uri) else 1)


main.add_command(keygen)
main.add_command(inspect)

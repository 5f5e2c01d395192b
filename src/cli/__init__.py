"""The command line: parse, call, print; nothing else. Data goes to stdout, talk to stderr, and the exit status names the error's branch."""

from .main import main

__all__ = ["main"]

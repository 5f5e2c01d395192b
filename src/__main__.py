"""`python -m sealpoint`, for where the `sealpoint` script is not on the path."""

from .cli import main

main(prog_name="sealpoint")

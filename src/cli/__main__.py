"""`python -m sealpoint.cli`, for where the `sealpoint` script is not on the path."""

from .main import main

main()

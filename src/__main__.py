"""`python -m sealpoint`, for where the `sealpoint` script is not on the path."""

from .cli import main

if __name__ == "__main__":  # a walk over the modules imports this one too
    main(prog_name="sealpoint")

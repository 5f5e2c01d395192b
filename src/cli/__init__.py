"""The command line: parse, call, print; nothing else."""

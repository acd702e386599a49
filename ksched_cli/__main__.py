"""`python -m ksched_cli` is `ksched`."""

from ksched_cli.commands.main import main

main()

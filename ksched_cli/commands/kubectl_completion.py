"""`kubectl_complete-ksched`: what kubectl runs to complete `kubectl ksched …`.

It is given the words after `kubectl ksched`, the last as far as it is typed, and prints a candidate
a line, then a number that says what the shell does besides. Upstream: kubectl's pkg/cmd/plugin
(SetupPluginCompletion), cobra's ShellCompDirective.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import typer

from ksched_cli.commands.main import COMMANDS, GROUPS, application, exit_after, listing
from ksched_cli.commands.output import print_text

_PROGRAM = "kubectl ksched"
_FILES_TOO = 0  # ShellCompDirectiveDefault
_NO_FILES = 4  # ShellCompDirectiveNoFileComp
_PLAIN = "plain"  # a candidate of ours; others stand for files and folders


def completion(arguments: Sequence[str]) -> str:
    """Return the lines for kubectl."""
    *before, last = arguments or ("",)
    named = before and before[0] in (*COMMANDS, *GROUPS)
    command = typer.main.get_command(application(before[:1]) if named else listing())
    # The class of click's, or of typer's own copy of it, that looks for candidates, without what a
    # shell would be told; kubectl is told by us.
    package = typer.BadParameter.__module__.rpartition(".")[0]
    base = import_module(f"{package}.shell_completion").ShellComplete
    complete: Any = type("KubectlComplete", (base,), dict.fromkeys(base.__abstractmethods__))
    items = complete(command, {}, _PROGRAM, "").get_completions(list(before), last)
    lines = [
        f"{item.value}\t{item.help}" if item.help else str(item.value)
        for item in items
        if item.type == _PLAIN and item.value
    ]
    return "\n".join([*lines, f":{_NO_FILES if lines else _FILES_TOO}"])


def main() -> NoReturn:
    """Run the console entry."""
    exit_after(lambda: print_text(completion(sys.argv[1:])))

"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import shutil
import sys

from ksched_cli.report.forms import Form, Report, render
from ksched_cli.report.table import MIN_WIDTH, TERMINAL, Limit


def limit(everything: bool = False) -> Limit:
    """As wide as the terminal, or $COLUMNS says; 100 columns without either. Long lists are cut,
    in a pipe too, but for --all (everything). Colours on a terminal, unless NO_COLOR is set."""
    width = shutil.get_terminal_size((TERMINAL.width or 0, 0)).columns
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Limit(max(width, MIN_WIDTH), None if everything else TERMINAL.rows, colour)


def show(report: Report, form: Form) -> None:
    """Prints a result whole, or not at all where rendering it fails."""
    print(render(report, form))


def warn(line: str) -> None:
    """Prints a line of warning."""
    print(f"warning: {line}", file=sys.stderr)

"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys

from ksched_cli.report.forms import Form, Report, render
from ksched_cli.report.table import EVERYTHING, TERMINAL, Limit


def limit(everything: bool = False) -> Limit:
    """A terminal gets 100 columns and, unless everything is asked for, the beginning of long lists;
    a pipe gets everything."""
    if not sys.stdout.isatty():
        return EVERYTHING
    return Limit(width=TERMINAL.width) if everything else TERMINAL


def show(report: Report, form: Form) -> None:
    """Prints a result whole, or not at all where rendering it fails."""
    print(render(report, form))


def warn(line: str) -> None:
    """A line of warning."""
    print(f"warning: {line}", file=sys.stderr)

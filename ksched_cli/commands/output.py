"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys

from ksched_cli.report.forms import Form, Report, render
from ksched_cli.report.table import EVERYTHING, TERMINAL, Limit


def limit(everything: bool = False) -> Limit:
    """On a terminal 100 columns and, but for --all (everything), the beginning of long lists; in a
    pipe none."""
    if not sys.stdout.isatty():
        return EVERYTHING
    return Limit(width=TERMINAL.width) if everything else TERMINAL


def show(report: Report, form: Form) -> None:
    """Prints a result whole, or not at all where rendering it fails."""
    print(render(report, form))


def warn(line: str) -> None:
    """Prints a line of warning."""
    print(f"warning: {line}", file=sys.stderr)

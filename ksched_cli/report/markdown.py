"""Results as Markdown, for a pull request or the summary of a job.

Names and messages of others are code spans: nothing in them is markup, a mention or a link.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ksched_cli.report.table import printable

_TICKS = re.compile("`+")


def code(text: str) -> str:
    """A code span that shows the text as it is, also within a table; empty for no text."""
    shown = printable(text).replace("\n", " ").replace("|", "\\|")
    if not shown.strip():
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """cells: Markdown"""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

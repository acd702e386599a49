"""Results as Markdown, for a pull request or the summary of a job.

Names and messages of others are code spans: nothing in them is markup, a mention or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from ksched_cli.report.table import BREAK, CELL, HEADER, ROW, STRONG, printable

_TICKS = re.compile("`+")
# Cells that are no code: amounts, and words, in which nothing is markup, a mention or a link.
_PLAIN = re.compile(r"[+-]?[\d,.]+([%s]|[KMGTPE]i)?|([A-Za-z]+( [A-Za-z]+)*)?", re.ASCII)
_HARD_BREAK = "\\\n"


def code(text: str) -> str:
    """A code span that shows the text as it is; empty for no text."""
    shown = printable(text).replace("\n", " ")
    if not shown.strip():
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """cells: Markdown"""
    lines = [headers, ["---"] * len(headers), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def as_markdown(text: str) -> str:
    """A text that was made with a Limit for Markdown: its tables as tables, verdicts in bold, each
    other line as code."""
    kinds = {HEADER: "table", ROW: "table", "": ""}
    blocks = []
    for kind, lines in groupby(text.split("\n"), lambda line: kinds.get(line[:1], "text")):
        if kind == "table":
            blocks += _tables(lines)
        elif kind:
            blocks.append(_HARD_BREAK.join(map(_line, lines)))
    return "\n\n".join(blocks)


def _line(line: str) -> str:
    span = code(line.replace(STRONG, "").strip())
    return f"**{span}**" if line.startswith(STRONG) and span else span


def _tables(lines: Iterable[str]) -> list[str]:
    """A table for each header among the lines."""
    tables: list[list[list[str]]] = []
    for line in lines:
        if line.startswith(HEADER):
            tables.append([])
        tables[-1].append([cell(text) for text in line[1:].split(CELL)])
    return [markdown_table(rows[0], rows[1:]) for rows in tables]


def cell(text: str) -> str:
    """A table's cell: an amount or words as they are, anything else as code."""
    return "<br>".join(part if _PLAIN.fullmatch(part) else code(part) for part in text.split(BREAK))

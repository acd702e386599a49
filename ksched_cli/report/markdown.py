"""Results as Markdown, for a pull request or the summary of a job.

Names and messages of others are code spans: nothing in them is markup, a mention or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ksched_cli.report.cells import (
    all_names,
    column_texts,
    cut,
    excerpt_lines,
    first_names,
    folded,
    without_equal_columns,
)
from ksched_cli.report.limit import Limit
from ksched_cli.report.view import (
    Bars,
    Command,
    Commands,
    Excerpt,
    FileText,
    Groups,
    Line,
    Noted,
    Section,
    Table,
    Text,
    View,
    shown_lines,
)
from ksched_cli.report.words import more, printable

_TICKS = re.compile("`+")
# Cells that are no code: amounts, and words, in which nothing is markup, a mention or a link.
_AMOUNT = r"[+-]?[\d,.]+([%s]|[KMGTPE]i)?"
_PLAIN = re.compile(rf"{_AMOUNT}( of {_AMOUNT})?|([A-Za-z]+( [A-Za-z]+)*)?", re.ASCII)
_HARD_BREAK = "\\\n"


def code(text: str) -> str:
    """Return a code span that shows the text as it is; empty for no text."""
    shown = printable(text).replace("\n", " ")
    if not shown.strip():
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table. cells: Markdown"""
    lines = [headers, ["---"] * len(headers), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def cell(text: str) -> str:
    """Return a table's cell: an amount or words as they are, anything else as code."""
    parts = text.split("\n")
    return "<br>".join(part if _PLAIN.fullmatch(part) else code(part) for part in parts)


def as_markdown(view: View, limit: Limit) -> str:
    """Return a view whose sections are those that texts show."""
    lines = [f"**{code(view.title)}**", *map(_span, shown_lines(view.lines))]
    blocks = [_HARD_BREAK.join(filter(None, lines))]
    for section in view.sections:
        blocks += _section(section, limit)
    return "\n\n".join(blocks)


def _span(line: Line) -> str:
    return code(line.text)


def _section(section: Section, limit: Limit, level: str = "####") -> Iterator[str]:
    if section.heading:
        yield f"{level} {cell(section.heading)}"
    if isinstance(section, Text):
        yield _HARD_BREAK.join(map(_span, shown_lines(section.lines)))
    elif isinstance(section, Commands):
        yield _fence(section.commands)
    elif isinstance(section, Excerpt):
        yield _fenced("\n".join(excerpt_lines(section)))
    elif isinstance(section, FileText):
        yield _fenced(printable(section.text.rstrip("\n")))
    elif isinstance(section, Table):
        yield from _view_table(section, limit)
    elif isinstance(section, Bars):
        yield from _view_table(Table(columns=section.columns, rows=section.rows), limit)
    elif isinstance(section, Groups):
        yield from _groups(section, limit)
    if isinstance(section, Noted) and section.note:
        yield code(section.note)


def _groups(groups: Groups, limit: Limit) -> Iterator[str]:
    shown = groups.blocks[: limit.rows and groups.brief]
    for block in shown:
        state = f"{block.state}: " if block.state else ""
        names = ""
        if block.more_names:
            show = first_names if limit.rows is not None else all_names
            names = f": {show(block.more_names)}"
        heading = f"**{code(f'{state}{block.heading}{names}')}**"
        yield _HARD_BREAK.join((heading, *map(_span, shown_lines(block.lines))))
        for section in block.sections:
            yield from _section(section, limit, "#####")
    rest = len(groups.blocks) - len(shown)
    if rest:
        yield code(f"… and {more(rest, groups.noun)}")


def _view_table(table: Table, limit: Limit) -> Iterator[str]:
    table, equal_rows = folded(table)
    table, rest = cut(table, limit.rows)
    listed, equal_columns = all_names, ""
    if limit.rows is not None:
        listed = first_names
        table, equal_columns = without_equal_columns(table)
    columns = [
        column_texts(column.kind, values, listed)
        for column, values in zip(table.columns, zip(*table.rows, strict=True), strict=False)
    ]
    if table.marks:
        columns = [list(table.marks), *columns]
    headers = [*([""] if table.marks else ()), *(column.title for column in table.columns)]
    if table.rows:
        rows = [[cell(text) for text in row] for row in zip(*columns, strict=True)]
        yield markdown_table(list(map(cell, headers)), rows)
    for line in filter(None, (rest, equal_rows, equal_columns)):
        yield code(line)


def _fence(commands: Sequence[Command]) -> str:
    """Return commands to copy, in a fence that none of them can end."""
    lines = []
    for command in commands:
        if command.what:
            lines.append(f"# {command.what}")
        lines.append(command.text)
    return _fenced("\n".join(printable(line).replace("\n", " ") for line in lines), "sh")


def _fenced(text: str, language: str = "text") -> str:
    """Return a text in a fence that none of its lines can end."""
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"

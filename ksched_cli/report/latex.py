"""The tables of a result as LaTeX: a tabular for each, with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ksched_cli.report.cells import column_texts
from ksched_cli.report.view import Kind, Medium, Table, View
from ksched_cli.report.words import printable

_NAMES = (Kind.TEXT, Kind.NODE, Kind.POD, Kind.OWNER)
_ESCAPES = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "…": r"\ldots{}",
    "→": r"$\to$",
    "\n": " ",
}
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))


def as_latex(view: View) -> str:
    """Return the tables of a view; titles and notes are comments."""
    tables = (section for section in view.sections if isinstance(section, Table))
    shown = (table for table in tables if table.rows and table.on is not Medium.PAGE)
    return "\n\n".join((_comment(view.title), *("\n".join(_tabular(table)) for table in shown)))


def _tabular(table: Table) -> Iterator[str]:
    if table.heading:
        yield _comment(table.heading)
    sides = ("l" if column.kind in _NAMES else "r" for column in table.columns)
    yield rf"\begin{{tabular}}{{{''.join(sides)}}}"
    yield r"\toprule"
    yield _line(column.title for column in table.columns)
    yield r"\midrule"
    columns = [
        column_texts(column.kind, values)
        for column, values in zip(table.columns, zip(*table.rows, strict=True), strict=True)
    ]
    yield from map(_line, zip(*columns, strict=True))
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if table.note:
        yield _comment(table.note)


def _line(cells: Iterator[str] | tuple[str, ...]) -> str:
    escaped = (_ESCAPED.sub(lambda mark: _ESCAPES[mark[0]], printable(cell)) for cell in cells)
    return rf"{' & '.join(escaped)} \\"


def _comment(text: str) -> str:
    return f"% {printable(text)}".replace("\n", " ")

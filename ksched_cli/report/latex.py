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
    parts = [_comment(view.title)]
    for table in view.sections:
        if not isinstance(table, Table) or not table.rows or table.on is Medium.PAGE:
            continue
        sides = ("l" if column.kind in _NAMES else "r" for column in table.columns)
        columns = [
            column_texts(column.kind, values)
            for column, values in zip(table.columns, zip(*table.rows, strict=True), strict=True)
        ]
        lines = [
            rf"\begin{{tabular}}{{{''.join(sides)}}}",
            r"\toprule",
            _line(column.title for column in table.columns),
            r"\midrule",
            *map(_line, zip(*columns, strict=True)),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if table.heading:
            lines.insert(0, _comment(table.heading))
        if table.note:
            lines.append(_comment(table.note))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _line(cells: Iterator[str] | tuple[str, ...]) -> str:
    escaped = (_ESCAPED.sub(lambda mark: _ESCAPES[mark[0]], printable(cell)) for cell in cells)
    return rf"{' & '.join(escaped)} \\"


def _comment(text: str) -> str:
    return f"% {printable(text)}".replace("\n", " ")

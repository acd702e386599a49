"""A view as a page: its sections as the templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.report import view as views
from ksched_cli.report.cells import column_texts, excerpt_lines, folded
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import CellKind, column, filled
from ksched_cli.report.html.sections import (
    BarsSection,
    CommandList,
    Figure,
    Grid,
    Group,
    GroupsSection,
    HtmlPage,
    PageSection,
    Prose,
    TableSection,
)

_NAMED = 20  # of the names in a block
_GRID_KINDS = {
    views.Kind.NUMBER: CellKind.NUMBER,
    views.Kind.CPU: CellKind.CPU,
    views.Kind.BYTES: CellKind.BYTES,
    views.Kind.SHARE: CellKind.SHARE,
    views.Kind.DURATION: CellKind.DURATION,
    views.Kind.VERDICT: CellKind.VERDICT,
}


def page_of_view(view: views.View) -> HtmlPage:
    """Return the page of a view whose sections are those of a page."""
    sections = [_section(section) for section in view.sections]
    return HtmlPage(view.title, views.shown_lines(view.lines), view.tiles, sections, view.tone)


def _section(section: views.Section) -> PageSection:
    """Return the section as a template draws it; sections of pages alone are ready."""
    heading = section.heading
    note = section.note if isinstance(section, views.Noted) else ""
    match section:
        case PageSection():
            return section
        case views.Text(lines=lines):
            return Prose(heading, views.shown_lines([*lines, note]))
        case views.FileText(text=text):
            return Prose(heading, [text], "code")
        case views.Excerpt():
            return Prose(heading, ["\n".join(excerpt_lines(section))], "code")
        case views.Commands(commands=commands):
            return CommandList(heading, commands, note=note)
        case views.Table() if section.grid:
            columns = [
                _grid_column(each, [row[at] for row in section.rows])
                for at, each in enumerate(section.columns)
            ]
            return Grid(heading, section.grid, filled(columns), note)
        case views.Table():
            return _static(section)
        case views.Bars(columns=columns, values=values, legend=legend):
            longest = max(map(sum, values), default=0)
            cells = _cells(columns, section.rows)
            bars = [
                bar(row, parts, legend, longest) for row, parts in zip(cells, values, strict=True)
            ]
            headers = [*(each.title for each in columns), ""]
            return BarsSection(heading, headers, bars, legend if len(legend) > 1 else (), note)
        case views.Groups(blocks=blocks, opened=opened):
            return GroupsSection(heading, [*map(group_of, blocks)], note, opened)
    raise TypeError(f"no page shows a {type(section).__name__}")


def group_of(block: views.Block) -> Group:
    """Return the block as a template draws it."""
    return Group(
        block.heading,
        "",
        block.state,
        block.tone,
        names=block.more_names[:_NAMED],
        count=len(block.more_names),
        lede=views.shown_lines(block.lines),
        sections=[_section(each) for each in block.sections],
    )


def _static(section: views.Table) -> TableSection:
    """Return a table of few rows. Rows that are folded away are counted below it."""
    shown, line = folded(section)
    rows = _cells(shown.columns, shown.rows)
    headers = [each.title for each in shown.columns]
    if shown.marks:
        headers = ["", *headers]
        rows = [[mark, *row] for mark, row in zip(shown.marks, rows, strict=True)]
    return TableSection(
        section.heading, headers, rows, " ".join(filter(None, (line, section.note)))
    )


def _cells(columns: Sequence[views.Column], rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    texts = [
        [
            Figure(text) if each.kind.is_figure else text
            for text in column_texts(each.kind, [row[at] for row in rows])
        ]
        for at, each in enumerate(columns)
    ]
    return [list(row) for row in zip(*texts, strict=True)]


def _grid_column(each: views.Column, values: list[Any]) -> dict[str, Any]:
    kind = _GRID_KINDS.get(each.kind, CellKind.TEXT)
    if kind is CellKind.SHARE:
        values = [None if value is None else round(100 * value, 1) for value in values]
    elif kind is CellKind.TEXT:
        values = column_texts(each.kind, values)
    return column(each.title, values, kind)

"""The page of an answer as Markdown: its headline, figures and tables. Charts are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ksched_cli.answers import Answer
from ksched_cli.kube.quantity import amount_text
from ksched_cli.kube.time import SECOND
from ksched_cli.report.html.columns import Kind
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import Bars, Grid, Groups, Prose, Section, Table
from ksched_cli.report.markdown import cell, code, markdown_table
from ksched_cli.report.times import duration
from ksched_cli.report.view import shown_lines

_ROWS = 20  # of a table


def page_as_markdown(answer: Answer) -> str:
    """Names and messages of others are code spans, as in `-o markdown`."""
    page = page_of(answer)
    blocks = [f"**{code(page.title)}**", *(code(line.text) for line in shown_lines(page.lede))]
    if page.tiles:
        labels = [tile.label for tile in page.tiles]
        blocks.append(markdown_table(labels, [[cell(tile.value) for tile in page.tiles]]))
    for section in page.sections:
        if content := [*_content(section)]:
            blocks += [f"#### {section.heading}", *content]
    return "\n\n".join(blocks)


def _content(section: Section) -> Iterator[str]:
    if isinstance(section, Prose):
        yield from (code(line.text) for line in shown_lines(section.paragraphs))
    elif isinstance(section, Table):
        yield from _table(section.headers, section.rows)
    elif isinstance(section, Bars):
        yield from _table(section.headers, [(*bar.cells, bar.label) for bar in section.bars])
    elif isinstance(section, Grid):
        columns = [_texts(column) for column in section.columns]
        headers = [column["title"] for column in section.columns]
        yield from _table(headers, list(zip(*columns, strict=True)))
    elif isinstance(section, Groups):
        for group in islice(section.groups, _ROWS):
            yield f"**{code(group.heading)}**"
            lines = shown_lines((*group.lede, group.message))
            yield from (code(line.text) for line in lines)
            yield from _table(group.headers, group.rows)


def _table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    if not rows:
        return
    headers = [*headers, *[""] * (len(rows[0]) - len(headers))]
    yield markdown_table(
        headers, [["" if x is None else cell(str(x)) for x in row] for row in rows[:_ROWS]]
    )
    if len(rows) > _ROWS:
        yield f"and {len(rows) - _ROWS:,} more"


def _texts(column: Mapping[str, Any]) -> list[str]:
    """The values of a grid's column as the page shows them."""
    values = (
        column["values"]
        if "values" in column
        else map(column["terms"].__getitem__, column["index"])
    )
    units = {Kind.CPU: "cpu", Kind.BYTES: "memory"}
    kind = Kind(column["kind"])
    return [
        "" if value is None
        else amount_text(units[kind], round(value)) if kind in units
        else f"{value:g}%" if kind is Kind.SHARE
        else duration(round(value * SECOND)) if kind is Kind.DURATION
        else str(value)
        for value in values
    ]  # fmt: skip

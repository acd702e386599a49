"""The page of an answer that has no page of its own: its fields as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.answers import Answer, document_of
from ksched_cli.report.html.columns import Kind, column
from ksched_cli.report.html.sections import Grid, Page, Section, Table, Tile

# Stand in the page's head and foot.
ELSEWHERE = ("apiVersion", "kind", "kubernetesVersion", "kubernetesVersionFrom", "warnings",
             "changes")  # fmt: skip


def page(answer: Answer, headline: str) -> Page:
    """Numbers and names as tiles, lists as grids, all else as tables of fields."""
    title, *lede = headline.split("\n") if headline else [title_of(answer.kind)]
    fields = {key: value for key, value in document_of(answer).items() if key not in ELSEWHERE}
    tiles, sections = [], []
    for key, value in fields.items():
        if isinstance(value, str | int | float | bool):
            tiles.append(Tile(title_of(key).lower(), text_of(value)))
        else:
            sections += _sections(key, value)
    return Page(title, lede, tiles, sections)


def title_of(name: str) -> str:
    """`nodesNeeded` as "Nodes needed"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return spaced[:1].upper() + spaced[1:]


def text_of(value: Any) -> str:
    """A value in a cell."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case int():
            return f"{value:,}"
        case [*items] if all(isinstance(item, str) for item in items):
            return ", ".join(items)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _sections(key: str, value: Any) -> list[Section]:
    if isinstance(value, Mapping):
        rows = [(name, text_of(field)) for name, field in value.items()]
        return [Table(title_of(key), ("Name", "Value"), rows)] if rows else []
    if not value:
        return []
    if isinstance(value, Sequence) and all(isinstance(item, Mapping) for item in value):
        keys = list(dict.fromkeys(name for item in value for name in item))
        columns = [_column(name, [item.get(name) for item in value]) for name in keys]
    else:
        columns = [_column(key, value)]
    return [Grid(title_of(key), key, columns)]


def _column(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """A column; of numbers where all values are numbers."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return column(title_of(name), values, Kind.NUMBER)
    return column(title_of(name), map(text_of, values))

"""Rows as CSV: a line per row below a line of names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ksched_cli.answers import rows_of
from ksched_cli.report.words import printable

if TYPE_CHECKING:
    from ksched_cli.answers import Answer


def as_csv(answer: Answer) -> str:
    """Return a line per item of the answer's main list. Fields of fields are columns with a dot in
    their names; lists of names are separated by spaces, others JSON. Raises UsageError where
    there is no such list."""
    field, content = rows_of(answer)
    if isinstance(content, Mapping):
        items = ({"name": name, **_fields(field, item)} for name, item in content.items())
        return csv_of(dict(_flat(item)) for item in items)
    return csv_of(dict(_flat(_fields(field, item))) for item in content)


def _fields(field: str, item: Any) -> Mapping[str, Any]:
    return item if isinstance(item, Mapping) else {field: item}


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            are_names = all(isinstance(item, str) and " " not in item for item in value)
            text = " ".join(value) if are_names else json.dumps(value)
            yield f"{prefix}{name}", text
        else:
            yield f"{prefix}{name}", value


def csv_of(rows: Iterable[Mapping[str, Any]], first: Iterable[str] = ()) -> str:
    """Return rows of any names. first: the names of the first columns, which are always there"""
    shown = [
        {
            printable(name): printable(value) if isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    names = dict.fromkeys((*first, *(name for row in shown for name in row)))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(shown)
    return text.getvalue().rstrip("\n")

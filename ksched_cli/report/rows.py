"""Rows of an answer for other programs: as CSV, a line per row below a line of names, and as
Parquet, a column of one type per name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ksched_cli.answers import rows_of
from ksched_cli.errors import MissingExtraError
from ksched_cli.masking import masked
from ksched_cli.report.words import printable

if TYPE_CHECKING:
    from ksched_cli.answers import Answer

Row = Mapping[str, Any]

# The functions of report/ that make the rows of answers whose rows are not their main list, and the
# names of the first columns, which are always there.
_OWN_ROWS = {
    "ReplayResult": "replay:rows",
    "ShrinkResult": "shrink:rows",
    "SweepResult": "sweep:rows",
}
_INT64 = 2**63


def rows_of_answer(answer: Answer) -> tuple[Iterable[Row], Sequence[str]]:
    """Return an item of the answer's main list per row, and the names of the first columns. Fields
    of fields are columns with a dot in their names; lists of names are separated by spaces, others
    JSON. Raises UsageError where there is no such list."""
    from ksched_cli.report.views import function_at

    own = _OWN_ROWS.get(type(answer).__name__)
    if own is not None:
        rows: tuple[Iterable[Row], Sequence[str]] = function_at(own)(answer)
        return rows
    field, content = rows_of(answer)
    if isinstance(content, Mapping):
        items = ({"name": name, **_fields(field, item)} for name, item in content.items())
        return (dict(_flat(item)) for item in items), ()
    return (dict(_flat(_fields(field, item))) for item in content), ()


def _fields(field: str, item: Any) -> Row:
    return item if isinstance(item, Mapping) else {field: item}


def _flat(row: Row, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            are_names = all(isinstance(item, str) and " " not in item for item in value)
            text = " ".join(value) if are_names else json.dumps(value)
            yield f"{prefix}{name}", text
        else:
            yield f"{prefix}{name}", value


def as_csv(answer: Answer) -> str:
    """Return the rows as CSV. Raises UsageError; see rows_of_answer"""
    rows, first = rows_of_answer(answer)
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


def as_parquet(answer: Answer) -> bytes:
    """Return the rows as a Parquet file: whole numbers are int64, other numbers are doubles, and
    where a column has values of several types, all are texts.

    Raises UsageError, see rows_of_answer; MissingExtraError without pyarrow
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("-o parquet", "parquet") from None
    rows, first = rows_of_answer(answer)
    rows = list(rows)
    names = dict.fromkeys((*first, *(name for row in rows for name in row)))
    columns = {name: _typed([row.get(name) for row in rows]) for name in names}
    file = io.BytesIO()
    # All text is compressed: what others wrote is no line that the runner of a CI job obeys.
    parquet.write_table(pyarrow.table(columns), file, compression="zstd", write_statistics=False)
    return file.getvalue()


def _typed(values: list[Any]) -> list[Any]:
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(types) > 1 or any(isinstance(v, int) and abs(v) >= _INT64 for v in values):
        values = [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]
    return [masked(value) if isinstance(value, str) else value for value in values]

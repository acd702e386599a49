"""The texts of a table's cells: one unit in a column, lists cut where they are cut, rows and
columns that say nothing folded away. All renderers use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.report.view import Excerpt, Kind, Medium, Rows, Table
from ksched_cli.report.words import counted, more, percent, printable

LISTED_NAMES = 3
_BINARY = ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10), ("", 1)
_MILLI = 1000
_LONGEST = 10_000  # of an amount, in its unit
_MANY_CORES = 100_000  # from here on, tenths of a core say enough

# Names in a cell → their text, and whether they are cut.
Listed = Callable[[Sequence[str]], str]


def all_names(names: Sequence[str]) -> str:
    """Return all names, with commas."""
    return ", ".join(names)


def first_names(names: Sequence[str], most: int = LISTED_NAMES) -> str:
    """Return the first names and a count of the others."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def column_texts(kind: Kind, values: Sequence[Any], listed: Listed = all_names) -> list[str]:
    """Return the texts of a column's cells."""
    if kind in (Kind.CPU, Kind.BYTES):
        amounts = [part for value in values for part in _parts(value)]
        show = _cpu_format(amounts) if kind is Kind.CPU else _bytes_format(amounts)
        return [" of ".join(map(show, _parts(value))) for value in values]
    return [_text(kind, value, listed) for value in values]


def _parts(value: Any) -> tuple[int, ...]:
    """Return an amount, or an amount and what it is of; nothing of an empty cell."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _text(kind: Kind, value: Any, listed: Listed) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if kind is Kind.SHARE:
        return percent(value)
    if kind is Kind.AMOUNT:
        return amount(*value)
    if kind is Kind.DURATION:
        from ksched_cli.kube.time import SECOND
        from ksched_cli.report.times import duration

        return duration(round(value * SECOND))
    if isinstance(value, tuple | list):
        if kind is Kind.NUMBER:
            return " of ".join(f"{part:,}" for part in value)
        return printable(listed([str(name) for name in value]))
    return f"{value:,}"


def amount(resource: str, value: int, of: int | None = None) -> str:
    """Return `631.2`, `10.5Gi` or `5`: an amount of a resource beside its name; `631.2 of 16,530`
    where it is of another."""
    from ksched_cli.kube.quantity import is_of_bytes

    amounts = [value] if of is None else [value, of]
    if resource == "cpu":
        is_large = max(map(abs, amounts)) >= _MANY_CORES
        return " of ".join(_cpu_format([each], 1 if is_large else 3)(each) for each in amounts)
    show = _bytes_format(amounts) if is_of_bytes(resource) else "{:,}".format
    return " of ".join(map(show, amounts))


def _cpu_format(amounts: Sequence[int], most: int = 3) -> Callable[[int], str]:
    """Return a function that shows cores with as many decimals as the amounts need, and at most so
    many."""
    if max(map(abs, amounts), default=0) >= _MANY_CORES:
        most = 1
    decimals = next(
        (n for n in range(most) if all(each * 10**n % _MILLI == 0 for each in amounts)), most
    )
    return lambda each: f"{each / _MILLI:,.{decimals}f}"


def _bytes_format(amounts: Iterable[int]) -> Callable[[int], str]:
    """Return a function that shows bytes to a tenth, in one unit: that of the smallest amount, or a
    larger one in which the largest has four digits. What would be zero in it keeps its own."""
    sizes = sorted(abs(each) for each in amounts if each) or [0]
    suffix, unit = next(
        (
            each
            for each in _BINARY
            if sizes[0] >= each[1] or sizes[-1] >= _LONGEST * each[1] // 1024
        ),
        ("", 1),
    )

    def show(each: int) -> str:
        if each and abs(each) * 20 < unit:
            own = next((part for part in _BINARY if abs(each) >= part[1]), ("", 1))
            return f"{each / own[1]:,.1f}".removesuffix(".0") + own[0]
        return f"{each / unit:,.1f}".removesuffix(".0") + (suffix if each else "")

    return show


# -- what is folded away --------------------------------------------------------------------------


def folded(table: Table) -> tuple[Table, str]:
    """Return the table without the rows that it folds away, and the line that counts them."""
    if table.shown is Rows.ALL:
        return table, ""
    shown = []
    for index, row in enumerate(table.rows):
        values = row[1:]
        is_equal = all(value == values[0] for value in values)
        is_zero = all(value in (0, None, "") for value in values)
        if not (is_equal if table.shown is Rows.NOT_EQUAL else is_zero):
            shown.append(index)
    count = len(table.rows) - len(shown)
    marks = [table.marks[index] for index in shown] if table.marks else ()
    line = f"… and {counted(count, 'row')} {table.shown.value}" if count else ""
    return replace(table, rows=[table.rows[index] for index in shown], marks=marks), line


def without_equal_columns(table: Table) -> tuple[Table, str]:
    """Return the table without the columns that have one value in all rows, of those that fold, and
    the line that says what it is."""
    rows = table.rows
    if len(rows) < 2:
        return table, ""
    equal = [
        index
        for index, column in enumerate(table.columns)
        if column.fold and all(row[index] == rows[0][index] for row in rows)
    ]
    if not equal:
        return table, ""
    parts = []
    for index in equal:
        column = table.columns[index]
        (text,) = column_texts(column.kind, [rows[0][index]])
        parts.append(f"{column.title}{'' if column.kind.is_figure else ':'} {text}")
    line = f"the same in all rows: {', '.join(parts)}"
    return without_columns(table, equal), line


def without_columns(table: Table, indices: Sequence[int]) -> Table:
    """Return the table without some of its columns."""
    shown = [index for index in range(len(table.columns)) if index not in indices]
    return replace(
        table,
        columns=[table.columns[index] for index in shown],
        rows=[tuple(row[index] for index in shown) for row in table.rows],
    )


def cut(table: Table, rows: int | None) -> tuple[Table, str]:
    """Return the first rows of the table where lists are cut, and the line that counts the rest.
    What is only in the wide form has a row for each single thing, and is never cut.

    rows: that a list may have; None: all are shown
    """
    count = len(table.rows) if table.count is None else table.count
    if rows is None or not table.on & Medium.BRIEF:
        return table, ""
    most = min(rows, rows if table.brief is None else table.brief)
    if count <= most:
        return table, ""
    rest = more(count - most, table.noun)
    hint = f" ({table.hint})" if table.hint else ""
    marks = table.marks[:most]
    return replace(table, rows=table.rows[:most], marks=marks), f"… and {rest}{hint}"


# -- lines of files -------------------------------------------------------------------------------

_SHOWN_CHARACTERS = 76


def excerpt_lines(excerpt: Excerpt, width: int | None = None) -> tuple[str, str]:
    """Return the line behind its number, and a caret under the place; of a long line, what is
    around it."""
    text = excerpt.text.expandtabs(1).rstrip()
    at = min(excerpt.column - 1, len(text))
    indent = min(len(text) - len(text.lstrip()), at)
    text, at = text[indent:], at - indent
    begin = f"{excerpt.number:>4} | "
    most = (width or _SHOWN_CHARACTERS + len(begin)) - len(begin)
    if len(text) > most:
        first = max(0, min(at - most // 2, len(text) - most))
        is_cut = first > 0, first + most < len(text)
        text = text[first : first + most]
        text = "…" * is_cut[0] + text[is_cut[0] : len(text) - is_cut[1]] + "…" * is_cut[1]
        at -= first
    blank = " " * (len(begin) - 2) + "| "
    return begin + printable(text), blank + " " * len(printable(text[:at])) + "^"

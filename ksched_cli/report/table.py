"""Tables for people: at most 100 columns wide on a terminal, whole in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate


@dataclass(frozen=True, slots=True)
class Limit:
    """width: columns, rows: lines of one list; None: no limit."""

    width: int | None = None
    rows: int | None = None


EVERYTHING = Limit()
TERMINAL = Limit(width=100, rows=40)

# In one cell of a limited table: at most so many names, and characters.
SHOWN_NAMES = 6
SHOWN_WIDTH = 24
# Of the last column of a table, however wide the others are.
MIN_LAST_COLUMN = 30


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[object]], limit: Limit = EVERYTHING
) -> str:
    """Rows under headers, without lines. The last column wraps where the table would be wider than
    the limit (but keeps MIN_LAST_COLUMN characters), the others never do."""
    shown = rows if limit.rows is None else rows[: limit.rows]
    widths: list[int | None] = [None] * len(headers)
    if limit.width is not None and shown:
        used = sum(
            max(len(str(header)), *(len(str(row[i])) for row in shown)) + 2
            for i, header in enumerate(headers[:-1])
        )
        widths[-1] = max(limit.width - used, MIN_LAST_COLUMN)
    return tabulate(
        shown,
        headers=headers,
        tablefmt="plain",
        maxcolwidths=widths if limit.width is not None else None,
        disable_numparse=True,
        break_on_hyphens=False,
    )


def cut_columns(
    headers: Sequence[str], rows: Sequence[Sequence[object]], limit: Limit = EVERYTHING
) -> str:
    """`columns`, with a line that counts the rows left out, where there are any."""
    text = columns(headers, rows, limit)
    if limit.rows is None or len(rows) <= limit.rows:
        return text
    return f"{text}\n… and {len(rows) - limit.rows} more (--all shows every one)"


def listed(names: Sequence[str], limit: Limit) -> str:
    """Names in one cell; where rows are limited up to SHOWN_NAMES, and a count of the others."""
    if limit.rows is None or len(names) == 1:
        return ", ".join(names)
    shown: list[str] = []
    for name in names[:SHOWN_NAMES]:
        if shown and len(", ".join((*shown, name))) > SHOWN_WIDTH:
            break
        shown.append(name)
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" +{rest}" if rest else "")

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

SHOWN_NAMES = 6
SHOWN_WIDTH = 24


def columns(
    headers: Sequence[str], rows: Sequence[Sequence[object]], limit: Limit = EVERYTHING
) -> str:
    """The last column wraps where the table would be too wide, the others never do."""
    shown = rows if limit.rows is None else rows[: limit.rows]
    widths: list[int | None] = [None] * len(headers)
    if limit.width is not None and shown:
        taken = sum(
            max(len(str(header)), *(len(str(row[i])) for row in shown)) + 2
            for i, header in enumerate(headers[:-1])
        )
        widths[-1] = max(limit.width - taken, 30)
    return tabulate(
        shown,
        headers=headers,
        tablefmt="plain",
        maxcolwidths=widths if limit.width is not None else None,
        disable_numparse=True,
        break_on_hyphens=False,
    )


def cut(text: str, count: int, limit: Limit) -> str:
    """Says how many rows are not shown."""
    if limit.rows is None or count <= limit.rows:
        return text
    return f"{text}\n… and {count - limit.rows} more (--all shows every one)"


def listed(names: Sequence[str], limit: Limit) -> str:
    """Names in one cell; where rows are limited the first few, and how many more there are."""
    if limit.rows is None or len(names) == 1:
        return ", ".join(names)
    shown: list[str] = []
    for name in names[:SHOWN_NAMES]:
        if shown and len(", ".join((*shown, name))) > SHOWN_WIDTH:
            break
        shown.append(name)
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" +{rest}" if rest else "")

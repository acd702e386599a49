"""Tables for people: as wide as asked, long lists cut with a count of what is left out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from textwrap import indent

from ksched_cli.report.cells import LISTED_NAMES
from ksched_cli.report.view import ALL_HINT
from ksched_cli.report.words import counted as counted
from ksched_cli.report.words import grouped as grouped
from ksched_cli.report.words import printable as printable

MIN_WIDTH = 40
GAP = 2  # between columns
MIN_PROSE = 24  # of a column that wraps
INDENT = "  "

RED, GREEN, YELLOW = "31", "32", "33"

# What a text for Markdown is made of (markdown.py); `printable` escapes them in what others wrote.
HEADER, ROW, CELL, BREAK, STRONG = "\x1c", "\x1d", "\x1e", "\x1f", "\x02"


@dataclass(frozen=True, slots=True)
class Limit:
    """What texts for people are written for.

    width: columns, rows: lines of one list; None: no limit. colour: of verdicts. markdown:
    tables and verdicts are marked for `as_markdown`. wide: tables have a row for every single thing
    """

    width: int | None = None
    rows: int | None = None
    colour: bool = False
    markdown: bool = False
    wide: bool = False

    @property
    def whole(self) -> Limit:
        """With all rows."""
        return replace(self, rows=None)

    def first(self, rows: int) -> Limit:
        """At most so many rows, but for an unlimited table."""
        return self if self.rows is None else replace(self, rows=min(self.rows, rows))

    def columns(self, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
        """Rows under headers, without lines. Cells wrap, between words where they can, so that no
        line is wider than the limit; text of several lines keeps them. Where the longest words of
        the columns do not fit beside each other, the first column stands above the others."""
        cells = _cells(headers, rows if self.rows is None else rows[: self.rows])
        if self.markdown:
            return _marked_rows(cells)
        if self.width is None or len(headers) == 1 or _are_whole(cells, self.width):
            blocks = _side_by_side(cells, self.width)
        else:
            blocks = _stacked(cells, self.width)
        return "\n".join(line.rstrip() for block in blocks for line in block.split("\n"))

    def cut_columns(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[object]],
        noun: str = "",
        count: int | None = None,
    ) -> str:
        """`columns`, with a line that counts the rows left out, where there are any.

        count: of all rows, where `rows` are only those to be shown
        """
        text = self.columns(headers, rows)
        count = len(rows) if count is None else count
        if self.rows is None or count <= self.rows:
            return text
        rest = f"{count - self.rows:,} more{noun and ' ' + noun}"
        return f"{text}\n… and {rest} ({ALL_HINT})"

    def paragraph(self, text: str, indent: str = "") -> str:
        """Prose wrapped to the width; lines after the first of each begin with the indent."""
        text, width = printable(text), self.width
        if width is None:
            return text
        return "\n".join(
            line if len(line) <= width else "\n".join(_wrap(line, width, indent))
            for line in text.split("\n")
        )

    def verdict(self, text: str, colour: str) -> str:
        """A paragraph, line by line in colour where the terminal shows colours; bold in
        Markdown."""
        lines = self.paragraph(text).split("\n")
        if self.markdown:
            lines = [STRONG + line for line in lines]
        elif self.colour:
            lines = [f"\x1b[{colour}m{line}\x1b[0m" for line in lines]
        return "\n".join(lines)

    def listed(self, names: Sequence[str], shown: int = LISTED_NAMES) -> str:
        """Names in one cell; where rows are limited the first of them, fewer where they would take
        more than half of the width, and a count of the others."""
        if self.rows is None or len(names) <= 1:
            return ", ".join(names)
        if len(names) <= shown + 1 and not self._is_long(names):
            return ", ".join(names)
        first = list(names[:shown])
        while len(first) > 1 and self._is_long(first):
            first.pop()
        return f"{', '.join(first)} and {len(names) - len(first):,} more"

    def _is_long(self, names: Sequence[str]) -> bool:
        return self.width is not None and len(", ".join(names)) > self.width // 2


EVERYTHING = Limit()
TERMINAL = Limit(width=100, rows=40)
PAGE = Limit(rows=40)


def _marked_rows(cells: Sequence[Sequence[str]]) -> str:
    lines = [CELL.join(row).replace("\n", BREAK) for row in cells]
    return "\n".join((HEADER + lines[0], *(ROW + line for line in lines[1:])))


def _are_whole(cells: Sequence[Sequence[str]], width: int) -> bool:
    """Whether the columns fit beside each other with no name or word taken apart."""
    return sum(_longest_parts(cells)) + GAP * (len(cells[0]) - 1) <= width


def _side_by_side(cells: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The text of each row; of one line, but where a cell has several or wraps."""
    if width is not None:
        widths = _widths(cells, width)
        cells = [
            [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)] for row in cells
        ]
    # It takes longer to import than many a command takes.
    from tabulate import tabulate

    # Headers as a row: tabulate pads a column below a header of its own.
    lines = iter(tabulate(cells, tablefmt="plain", disable_numparse=True).split("\n"))
    return ["\n".join(islice(lines, max(cell.count("\n") + 1 for cell in row))) for row in cells]


def _stacked(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """The text of each row: the first cell, then the others beside each other; where these do not
    fit either, as prose, each with its header."""
    headers, *rows = cells
    others, narrow = [row[1:] for row in cells], width - len(INDENT)
    if len(headers) == 2 or _are_whole(others, narrow):
        blocks = _side_by_side(others, narrow)
    else:
        names = [header.lower() for header in headers[1:]]
        blocks = [""]
        for row in rows:
            parts = [f"{name} {cell}" for name, cell in zip(names, row[1:], strict=True) if cell]
            blocks.append(_wrapped("; ".join(parts), narrow))
    return [
        "\n".join(part for part in (_wrapped(row[0], width), indent(block, INDENT)) if part.strip())
        for row, block in zip(cells, blocks, strict=True)
    ]


def apart(*texts: str) -> str:
    """Texts with an empty line between them, without those that are empty."""
    return "\n\n".join(filter(None, texts))


def marked(name: str, chosen: str) -> str:
    """The name of a node, with a mark where it is the chosen one."""
    return f"{name} (chosen)" if name == chosen else name


def _cells(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> list[list[str]]:
    shown = ([printable("" if cell is None else str(cell)) for cell in row] for row in rows)
    return [list(headers), *shown]


def _wrap(line: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _wrapped(cell: str, width: int) -> str:
    return "\n".join(
        line if len(line) <= width else "\n".join(_wrap(line, width)) for line in cell.split("\n")
    )


def _widths(cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Per column, so that all together fit: every one has its longest word and MIN_PROSE
    characters where that is possible, and of what is left over each its share."""
    natural = _natural(cells)
    available = max(width - GAP * (len(natural) - 1), len(natural))
    if sum(natural) <= available:
        return natural
    longest = _longest_parts(cells)
    least = [max(word, min(whole, MIN_PROSE)) for word, whole in zip(longest, natural, strict=True)]
    if sum(least) >= available:
        return [max(length, 1) for length in shares(least, available)]
    lengths = [whole - part for whole, part in zip(natural, least, strict=True)]
    extra = shares(lengths, available - sum(least))
    return [part + more for part, more in zip(least, extra, strict=True)]


def _longest_parts(cells: Sequence[Sequence[str]]) -> list[int]:
    """Per column, the length of its longest word."""
    return [
        max([1, *(len(word) for cell in column for word in cell.split())])
        for column in zip(*cells, strict=True)
    ]


def _natural(cells: Sequence[Sequence[str]]) -> list[int]:
    """Per column, the length of its longest line."""
    return [
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(*cells, strict=True)
    ]


def shares(lengths: Sequence[int], available: int) -> list[int]:
    """Divide `available` among columns, shortest first: each gets its length, or an equal share of
    what is left where that is less."""
    own = [0] * len(lengths)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for left, i in zip(range(len(lengths), 0, -1), order, strict=True):
        own[i] = min(lengths[i], available // left)
        available -= own[i]
    return own

"""A view as text for a terminal: as wide as asked, long lists cut with a count of what is left
out, headings bold, secondary text dim, and colours only for what is good or bad."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from ksched_cli.report.cells import (
    LISTED_NAMES,
    all_names,
    column_texts,
    cut,
    excerpt_lines,
    first_names,
    folded,
    without_columns,
    without_equal_columns,
)
from ksched_cli.report.limit import Limit
from ksched_cli.report.view import (
    ALL_HINT,
    Command,
    Commands,
    Excerpt,
    FileText,
    Groups,
    Line,
    Noted,
    Section,
    Table,
    Text,
    Tone,
    View,
    shown_lines,
)
from ksched_cli.report.words import more, printable

GAP = 2  # between columns
MIN_PROSE = 24  # of a column that wraps
INDENT = "  "
NO_BREAK = "\x00"  # a space in a cell, where no line breaks; `printable` leaves none in texts

_BOLD = "1"
_CODES = {Tone.GOOD: "32", Tone.WARN: "33", Tone.BAD: "31", Tone.SOFT: "2"}
_MARKS = {"+": Tone.GOOD, "-": Tone.BAD, "~": Tone.WARN}


def as_text(view: View, limit: Limit) -> str:
    """Return the text of a view whose sections are those that a terminal shows."""
    return _Terminal(limit).view(view)


def paragraph(text: str, width: int | None, indent: str = "") -> str:
    """Return prose wrapped to a width; the lines after the first of each begin with the indent."""
    lines = printable(text).split("\n")
    return "\n".join(part for line in lines for part in _wrap(line, width, indent))


class _Terminal:
    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._width = limit.width
        self._is_cut = limit.rows is not None

    def _listed(self, names: Sequence[str]) -> str:
        """Return the first names, fewer where they take more than half of the width."""
        if not self._is_cut:
            return all_names(names)
        most = LISTED_NAMES
        while most > 1 and self._width and len(first_names(names, most)) > self._width // 2:
            most -= 1
        return first_names(names, most)

    def view(self, view: View) -> str:
        title = self._paragraph(view.title, bold=True, tone=view.tone)
        parts = ["\n".join((title, *map(self._line, shown_lines(view.lines))))]
        parts += map(self._section, view.sections)
        return "\n\n".join(filter(None, parts))

    # -- words ------------------------------------------------------------------------------------

    def _styled(self, text: str, *codes: str) -> str:
        """Return each line on its own, as a pager shows one line after the other."""
        if not self._limit.colour or not any(codes):
            return text
        begin = f"\x1b[{';'.join(filter(None, codes))}m"
        return "\n".join(f"{begin}{line}\x1b[0m" if line else line for line in text.split("\n"))

    def _paragraph(
        self, text: str, indent: str = "", *, bold: bool = False, tone: Tone = Tone.NONE
    ) -> str:
        lines = paragraph(text, self._width, indent)
        return self._styled(lines, _BOLD * bold, _CODES.get(tone, ""))

    def _line(self, line: Line) -> str:
        return self._paragraph(line.text, tone=line.tone)

    def _soft(self, *texts: str) -> list[str]:
        return [self._paragraph(text, tone=Tone.SOFT) for text in texts if text]

    # -- sections ---------------------------------------------------------------------------------

    def _section(self, section: Section) -> str:
        heading = [self._paragraph(section.heading, bold=True)] if section.heading else []
        note = self._soft(section.note) if isinstance(section, Noted) else []
        if isinstance(section, Groups):
            blocks = [*self._blocks(section)]
            if heading:
                blocks[0] = "\n".join((*heading, *note, blocks[0]))
            return "\n\n".join(blocks)
        if isinstance(section, Text):
            return "\n".join((*heading, *map(self._line, shown_lines(section.lines)), *note))
        if isinstance(section, Commands):
            return "\n".join((*heading, *note, *self._commands(section.commands)))
        if isinstance(section, Table):
            return "\n".join((*heading, *self._table(section), *note))
        if isinstance(section, FileText):
            return "\n".join((*heading, printable(section.text.rstrip("\n"))))
        if isinstance(section, Excerpt):
            line, mark = excerpt_lines(section, self._width)
            return "\n".join((*heading, line, self._styled(mark, _CODES[Tone.WARN])))
        return ""

    def _blocks(self, groups: Groups) -> Iterator[str]:
        most = groups.brief if self._is_cut else None
        shown = groups.blocks if most is None else groups.blocks[:most]
        for block in shown:
            text = f"{block.state}: {block.heading}" if block.state else block.heading
            if block.more_names:
                text += f": {self._listed(block.more_names)}"
            parts = [self._paragraph(text, INDENT, tone=block.tone)]
            parts += map(self._line, shown_lines(block.lines))
            parts += map(self._section, block.sections)
            yield "\n".join(parts)
        rest = len(groups.blocks) - len(shown)
        if rest:
            (line,) = self._soft(f"… and {more(rest, groups.noun)} ({ALL_HINT})")
            yield line

    def _commands(self, commands: Sequence[Command]) -> Iterator[str]:
        """Yield a command a line, and behind it what it does where all of these have room there."""
        texts = [printable(command.text).replace("\n", " ") for command in commands]
        size = max(map(len, texts))
        longest = max(len(command.what) for command in commands)
        beside = self._width is None or len(INDENT) + size + len("  # ") + longest <= self._width
        last = ""
        for text, command in zip(texts, commands, strict=True):
            what = printable(command.what)
            if what and beside:
                yield f"{INDENT}{text:{size}}" + self._styled(f"  # {what}", "2")
                continue
            if what and what != last:
                last = what
                yield self._paragraph(f"{INDENT}# {what}", f"{INDENT}# ", tone=Tone.SOFT)
            yield f"{INDENT}{text}"

    # -- tables -----------------------------------------------------------------------------------

    def _table(self, table: Table) -> Iterator[str]:
        table, equal_rows = folded(table)
        table, rest = cut(table, self._limit.rows)
        equal_columns = ""
        if self._is_cut:
            table, equal_columns = without_equal_columns(table)
        if table.rows:
            # Where the rows are too wide, text wraps between words; then columns are dropped; then
            # each row is a paragraph.
            texts = self._texts(table)
            left_out = []
            while not self._has_room(texts, MIN_PROSE):
                worst = max(range(len(table.columns)), key=lambda index: table.columns[index].drop)
                if not table.columns[worst].drop:
                    break
                left_out.append(table.columns[worst].title)
                table = without_columns(table, [worst])
                texts = self._texts(table)
            has_room = self._has_room(texts)
            lines = [*self._rows(table, texts)] if has_room else [self._paragraphs(table, texts)]
            if left_out:
                hidden = ", ".join(reversed(left_out))
                lines += self._soft(f"not shown in {self._width} columns: {hidden}")
            yield "\n".join(lines)
        yield from self._soft(rest, equal_rows, equal_columns)

    def _texts(self, table: Table) -> list[list[str]]:
        """Return the header and the cells of each column; marks of rows are a column of their own.
        Figures, such as `43 of 44`, have spaces at which no line breaks."""
        columns = [["", *table.marks]] if table.marks else []
        for column, values in zip(table.columns, zip(*table.rows, strict=True), strict=True):
            texts = column_texts(column.kind, values, self._listed)
            if column.kind.is_figure:
                texts = [text.replace(" ", NO_BREAK) for text in texts]
            title = printable(column.title) if column.named else column.title.upper()
            columns.append([title, *texts])
        return columns

    def _has_room(self, texts: Sequence[Sequence[str]], prose: int = 0) -> bool:
        """Return whether the columns fit beside each other with no name or word taken apart. prose:
        what a column that wraps should have"""
        if self._width is None or len(texts) == 1:
            return True
        return sum(_least(texts, prose)) + GAP * (len(texts) - 1) <= self._width

    def _rows(self, table: Table, texts: Sequence[Sequence[str]]) -> Iterator[str]:
        from tabulate import tabulate

        widths = _widths(texts, self._width)
        cells = [
            [
                "\n".join(
                    part.replace(NO_BREAK, " ")
                    for line in text.split("\n")
                    for part in _wrap(line, width)
                )
                for text, width in zip(row, widths, strict=True)
            ]
            for row in zip(*texts, strict=True)
        ]
        sides = ["right" if column.kind.is_figure else "left" for column in table.columns]
        if table.marks:
            sides = ["left", *sides]
        # The headers are a row: tabulate pads a column below a header of its own.
        text = tabulate(cells, tablefmt="plain", disable_numparse=True, colalign=sides)
        lines = iter(text.split("\n"))
        for number, row in enumerate(cells):
            own = islice(lines, max(cell.count("\n") + 1 for cell in row))
            mark = _MARKS.get(row[0]) if table.marks and number else None
            code = "2" if not number else _CODES[mark] if mark else ""
            yield self._styled("\n".join(line.rstrip() for line in own), code)

    def _paragraphs(self, table: Table, texts: Sequence[Sequence[str]]) -> str:
        """Return each row as its first cell, and below it the others, each after its header. Rows
        one after the other with the same first cell share it; what follows their first lines is
        indented further, so that each row is seen."""
        first = 1 if table.marks else 0
        headers = [column[0].lower() for column in texts]
        for at, column in enumerate(table.columns, first):
            if column.named:
                headers[at] = f"{printable(column.title)}:"
        lines = []
        rows = zip(*(column[1:] for column in texts), strict=True)
        for cells, alike in groupby(rows, key=itemgetter(slice(first + 1))):
            name = cells[first].replace(NO_BREAK, " ")
            if name and table.columns[0].kind.is_figure:
                name = f"{headers[first]} {name}"
            if name:
                lines += _wrap(" ".join((*cells[:first], name)), self._width or 0)
            below = [*alike]
            for row in below:
                others = [
                    f"{header} {cell}".lstrip().replace("\n", "; ").replace(NO_BREAK, " ")
                    for header, cell in zip(headers[first + 1 :], row[first + 1 :], strict=True)
                    if cell
                ]
                lines += textwrap.wrap(
                    "; ".join(others),
                    self._width or 0,
                    initial_indent=INDENT,
                    subsequent_indent=INDENT * (2 if len(below) > 1 else 1),
                    break_on_hyphens=False,
                )
        return "\n".join(lines)


def _wrap(line: str, width: int | None, indent: str = "") -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _least(texts: Sequence[Sequence[str]], prose: int = 0) -> list[int]:
    """Return per column, the length of its longest word, and `prose` where it has so much text."""
    longest = [
        max([1, *(len(word) for cell in column for word in cell.split())]) for column in texts
    ]
    natural = _natural(texts)
    return [max(word, min(whole, prose)) for word, whole in zip(longest, natural, strict=True)]


def _natural(texts: Sequence[Sequence[str]]) -> list[int]:
    """Return per column, the length of its longest line."""
    return [max(len(line) for cell in column for line in cell.split("\n")) for column in texts]


def _widths(texts: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Return per column, so that all together fit: every one has its longest word and MIN_PROSE
    characters where that is possible, and of what is left over each its share."""
    natural = _natural(texts)
    if width is None:
        return natural
    available = max(width - GAP * (len(natural) - 1), len(natural))
    if sum(natural) <= available:
        return natural
    least, goal = _least(texts, MIN_PROSE), natural
    if sum(least) > available:
        least, goal = _least(texts), least
    if sum(least) > available:
        return [max(length, 1) for length in _shares(least, available)]
    lengths = [whole - part for whole, part in zip(goal, least, strict=True)]
    extra = _shares(lengths, available - sum(least))
    return [part + more for part, more in zip(least, extra, strict=True)]


def _shares(lengths: Sequence[int], available: int) -> list[int]:
    """Divide `available` among columns, shortest first: each gets its length, or an equal share of
    what is left where that is less."""
    own = [0] * len(lengths)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for left, i in zip(range(len(lengths), 0, -1), order, strict=True):
        own[i] = min(lengths[i], available // left)
        available -= own[i]
    return own

"""What an answer shows, apart from where: a title, lines, and sections of data.

A view is made of the answer alone, by the function that views.py names. Cells are raw values; the
renderers (terminal.py, markdown.py, html/page.py) format and align them, choose units, fold rows
and shorten names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Flag, StrEnum, auto
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

T = TypeVar("T")

ALL_HINT = "--all shows every one"


class Shown(Struct, frozen=True):
    """A part of a view."""


class Medium(Flag):
    """Where a section is shown: in a terminal and in Markdown, with long lists cut (BRIEF), whole
    (WHOLE, with --all) or with a row for each single thing (WIDE, with -o wide); or on a page."""

    BRIEF = auto()
    WHOLE = auto()
    WIDE = auto()
    PAGE = auto()
    TEXT = BRIEF | WHOLE | WIDE
    ALL = TEXT | PAGE


class Tone(StrEnum):
    """What a line means. Only good, warn and bad have a colour; soft is secondary text."""

    NONE = ""
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    SOFT = "soft"


class Line(NamedTuple):
    """A line of words and what it means. message: what a page offers to copy of it"""

    text: str
    tone: Tone = Tone.NONE
    message: str = ""


class Tile(Shown, frozen=True):
    """A number at the top of a page. tone: good, warn, bad, or "" for neither."""

    label: str
    value: str
    tone: str = ""


class Kind(StrEnum):
    """What a column's cells are; text and names are a str, or a tuple of them.

    number:   an int or float
    cpu, bytes: an amount in the scheduler's units, or a pair of one and what it is of
    amount:   a pair of a resource and an amount of it: each row has its own unit
    share:    of 1
    duration: in seconds
    verdict:  of a plugin about a node: "no", "passes", or its points
    """

    TEXT = "text"
    NODE = "node"
    POD = "pod"
    OWNER = "owner"
    NUMBER = "number"
    CPU = "cpu"
    BYTES = "bytes"
    AMOUNT = "amount"
    SHARE = "share"
    DURATION = "duration"
    VERDICT = "verdict"

    @property
    def is_figure(self) -> bool:
        """Return whether its cells are aligned to the right."""
        return self not in (Kind.TEXT, Kind.NODE, Kind.POD, Kind.OWNER)


class Column(NamedTuple):
    """A column of a table.

    drop: a narrow terminal leaves columns out, those of the highest number first; 0: never
    fold: where all rows have one value, a line below the table says it instead
    on:   where it is shown
    named: the title has a name of others, which keeps its case
    """

    title: str
    kind: Kind = Kind.TEXT
    drop: int = 0
    fold: bool = False
    on: Medium = Medium.ALL
    named: bool = False


class Section(Shown, frozen=True, kw_only=True):
    """A part of a view. on: where it is shown"""

    heading: str = ""
    on: Medium = Medium.ALL

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to show."""
        return False

    @property
    def template(self) -> str:
        """Return the name of the page's template that draws it."""
        return type(self).__name__.lower()


class Later(Section, frozen=True, kw_only=True):
    """Sections that are made only where they are shown: data of a map, of charts, of every pod."""

    make: Callable[[], Iterable[Section]]
    on: Medium = Medium.PAGE


class Noted(Section, frozen=True, kw_only=True):
    """A section with a line of secondary text."""

    note: str = ""


class Text(Noted, frozen=True, kw_only=True):
    """Paragraphs."""

    lines: Sequence[str | Line]

    @property
    def is_empty(self) -> bool:
        return not shown_lines(self.lines)


class Rows(StrEnum):
    """Which rows of a table are folded away, with a count."""

    ALL = ""
    NOT_EQUAL = "equal on all sides"
    NOT_ZERO = "zero on all sides"


class Table(Noted, frozen=True, kw_only=True):
    """Rows under columns.

    brief: how many rows are shown where lists are cut; noun, hint: of the line that counts the rest
    count: of all rows, where `rows` are only the first of them
    shown: which rows are folded away; the first column names a row
    marks: `+`, `-` or `~` of each row that is added, removed or changed
    grid:  a name, where a page sorts and filters the table
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    brief: int | None = None
    noun: str = ""
    hint: str = ALL_HINT
    count: int | None = None
    shown: Rows = Rows.ALL
    marks: Sequence[str] = ()
    grid: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.rows


def table(heading: str, items: Iterable[T], /, *columns: Any, **fields: Any) -> Table:
    """Make a table with a row per item. columns: pairs of a Column and what it shows of an item"""
    values = [value_of for _, value_of in columns]
    rows = [tuple(value_of(item) for value_of in values) for item in items]
    return Table(heading=heading, columns=[each for each, _ in columns], rows=rows, **fields)


class Bars(Noted, frozen=True, kw_only=True):
    """A table whose rows have a bar each, of one part or several. values: the parts of each row;
    legend: their names; on a page only, where nothing else is said"""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    values: Sequence[Sequence[float]]
    legend: Sequence[str]
    on: Medium = Medium.PAGE

    @property
    def is_empty(self) -> bool:
        return not self.rows


def bars(
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    legend: Sequence[str],
    note: str = "",
) -> Bars:
    """Return rows whose last cells are the parts of their bars."""
    values = [row[-len(legend) :] for row in rows]
    return Bars(
        heading=heading, columns=columns, rows=rows, values=values, legend=legend, note=note
    )


class Command(NamedTuple):
    """A command to paste into a shell. what: it shows or does"""

    text: str
    what: str = ""


class Commands(Noted, frozen=True, kw_only=True):
    """Commands, which are never wrapped and have every name in full."""

    commands: Sequence[Command]

    @property
    def is_empty(self) -> bool:
        return not self.commands


class Excerpt(Section, frozen=True, kw_only=True):
    """A line of a file, with a mark beneath a place in it.

    number: of the line; column: of the place, from 1
    """

    number: int
    text: str
    column: int

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()


class FileText(Section, frozen=True, kw_only=True):
    """A whole file, whose lines are never wrapped."""

    text: str

    @property
    def is_empty(self) -> bool:
        return not self.text


class Block(Shown, frozen=True, kw_only=True):
    """A part of a list of alike things, such as a group of pods or a remedy.

    state: a word before the heading
    names: what the heading counts
    """

    heading: str
    state: str = ""
    tone: Tone = Tone.NONE
    lines: Sequence[str | Line] = ()
    sections: Sequence[Section] = ()
    names: Sequence[str] = ()

    @property
    def more_names(self) -> Sequence[str]:
        """Return the names; none if the heading has the first one."""
        return () if self.names and self.names[0] in self.heading else self.names


class Groups(Noted, frozen=True, kw_only=True):
    """Blocks beneath each other.

    brief: how many are shown where lists are cut; noun: of the others
    opened: how many are open on a page
    """

    blocks: Sequence[Block]
    brief: int | None = None
    noun: str = "more"
    opened: int = 3

    @property
    def is_empty(self) -> bool:
        return not self.blocks


class View(Shown, frozen=True, kw_only=True):
    """What an answer shows.

    title: the answer in a sentence; tone: of it
    lines: what is behind it, then what to do about it
    names: what it comes down to as a list of names
    nodes: names of nodes that lines and texts have, beside those in columns of nodes
    """

    title: str
    tone: Tone = Tone.NONE
    lines: Sequence[str | Line] = ()
    tiles: Sequence[Tile] = ()
    sections: Sequence[Section] = ()
    names: Callable[[], Sequence[str]] = tuple
    nodes: Sequence[str] = ()


def shown_lines(lines: Iterable[str | Line]) -> list[Line]:
    """Return the lines that have words."""
    every = (each if isinstance(each, Line) else Line(each) for each in lines)
    return [line for line in every if line.text]


def shown_sections(sections: Iterable[Section], medium: Medium) -> Iterator[Section]:
    """Yield the sections that a medium shows and that have something to show."""
    for section in sections:
        if not section.on & medium:
            continue
        if isinstance(section, Later):
            yield from shown_sections(section.make(), medium)
        elif not section.is_empty:
            yield section

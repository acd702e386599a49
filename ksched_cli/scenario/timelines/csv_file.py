"""A file of rows, and what its cells say: names, numbers, amounts of a resource."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO
from typing import TypeAlias, TypeVar

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.stored_bytes import unpacked

T = TypeVar("T")
Row: TypeAlias = Mapping[str, str]
NumberedRow: TypeAlias = tuple[int, int, Row]
"""Number, line, cells."""
WHITESPACE = "whitespace"
SHARE_OF = "x"
# After so many rows that are wrong the others are not read.
_MAX_ERRORS = 100
# Resources that are divided as finely as Kubernetes counts them; others are whole.
NATIVE = ("cpu", "memory", "ephemeral-storage")
_NANO, _MILLI = 10**9, 10**6
_COLUMN_IN_TEXT = re.compile(r"\{([^{}]+)\}")


class RowError(Exception):
    """An error in a row."""


@dataclass(slots=True)
class CsvFile:
    """A file of rows, gzipped or not.

    has_header: the first row names the columns; else they are 1, 2, …
    skips_bad: rows that are wrong are left out
    delimiter: between the cells of a row, a character, or WHITESPACE: as many blanks as there are
    comment: what lines begin with that are no rows; "" for none
    empty: texts of cells that are taken for empty ones
    source: its name; columns: their names; errors: of the rows that are wrong
    count: how many rows have been read
    """

    path: str
    has_header: bool = True
    skips_bad: bool = False
    delimiter: str = ","
    comment: str = ""
    empty: frozenset[str] = frozenset()
    source: str = ""
    columns: tuple[str, ...] = ()
    errors: list[InputError] = field(default_factory=list)
    count: int = 0
    _text: str = ""

    def open(self, names: Iterable[str]) -> None:
        """Read it, and the names of its columns. Raises InputError for one that is not there."""
        raw, self.source = read_file(self.path)
        self._text = decode_text(unpacked(raw, self.source), self.source)
        first = next(iter(self._lines()), (0, []))[1]
        numbers = map(str, range(1, len(first) + 1))
        self.columns = tuple(first if self.has_header else numbers)
        if not self.columns:
            raise InputError(self.source, "the file has no rows")
        for column in names:
            if column not in self.columns:
                listed = ", ".join(self.columns)
                hint = f'unknown column "{column}"; expected one of {listed}'
                raise InputError(self.source, hint)

    def rows(self) -> Iterator[NumberedRow]:
        """Yield the rows with their number and the line that each ends in; those that lack a cell
        are errors."""
        count, number = len(self.columns), itertools.count()
        for index, (line, cells) in enumerate(self._lines()):
            if index == 0 and self.has_header:
                continue
            self.count += 1
            if len(cells) != count:
                self.add_error(line, RowError(f"expected {count} values, got {len(cells)}"))
                continue
            if self.empty:
                cells = ["" if each.strip() in self.empty else each for each in cells]
            yield next(number), line, dict(zip(self.columns, cells, strict=True))

    def read(self, rows: Iterable[NumberedRow], read: Callable[[int, Row], T]) -> list[T]:
        """Return what is read of each row. Raises InputError for those of which `read` raises
        RowError, unless they are left out."""
        results = []
        for index, line, row in rows:
            try:
                results.append(read(index, row))
            except RowError as error:
                self.add_error(line, error)
        self._raise_errors()
        return results

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that have cells, with their numbers."""
        lines: Iterable[str] = StringIO(self._text, newline="")
        if self.comment:
            lines = ("\n" if line.startswith(self.comment) else line for line in lines)
        if self.delimiter == WHITESPACE:
            split = ((number, line.split()) for number, line in enumerate(lines, start=1))
            yield from (each for each in split if each[1])
            return
        reader = csv.reader(lines, delimiter=self.delimiter)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            position = Position(reader.line_num, 1)
            raise InputError(self.source, str(error), position=position) from None

    def add_error(self, line: int, error: RowError) -> None:
        """Note the error of a line. Raises InputError if there are too many."""
        position = Position(line, 1)
        self.errors.append(InputError(self.source, str(error), position=position))
        if len(self.errors) >= _MAX_ERRORS:
            self._raise_errors()

    def _raise_errors(self) -> None:
        """Raise an InputError with all of them, unless such rows are left out."""
        if self.errors and not self.skips_bad:
            raise self.errors[0].with_others(self.errors[1:])


def cell(row: Row, column: str) -> str:
    """Return the text in a column; "" where there is none."""
    return row[column].strip() if column else ""


def columns_in(text: str) -> list[str]:
    """Return the columns of a text such as {job}-{task}; the text itself is a column where it has
    none."""
    return _COLUMN_IN_TEXT.findall(text) or ([text] if text else [])


def text_in(row: Row, text: str) -> str:
    """Return what a row makes of a text such as {job}-{task}, or the cell of a column. Raises
    RowError for an empty cell."""
    if "{" not in text:
        return name_in(row, text, "")
    return _COLUMN_IN_TEXT.sub(lambda match: name_in(row, match[1], ""), text)


def name_in(row: Row, column: str, default: str) -> str:
    """Return the name in a row's column, or the default if there is no column for it. Raises
    RowError for an empty cell."""
    name = cell(row, column) if column else default
    if not name:
        raise RowError(f'column "{column}": expected a name')
    return name


def number_in(text: str, column: str) -> float:
    """Return the number that a cell has. Raises RowError for any other text."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e20:
        raise RowError(f'column "{column}": expected a number, got "{text}"')
    return value


def amount_in(text: str, column: str) -> float:
    """Return a number that is not negative. Raises RowError."""
    value = number_in(text, column)
    if value < 0:
        raise RowError(f'column "{column}": "{text}" is negative')
    return value


def count_in(text: str, column: str, most: int) -> int:
    """Return a whole number from 1 on. Raises RowError."""
    value = number_in(text, column)
    if value != int(value) or not 1 <= value <= most:
        problem = f"expected a whole number from 1 to {most:,}"
        raise RowError(f'column "{column}": {problem}; not "{text}"')
    return int(value)


def quantity_in(text: str, unit: str, column: str, resource: str) -> str:
    """Return an amount as Kubernetes writes it; "" for none. Raises RowError.

    unit: what follows the number, as m or Mi; or what the number is a share of, as x64 or x256Gi,
          rounded up to what Kubernetes counts of the resource
    """
    if unit.startswith(SHARE_OF):
        share = number_in(text or "0", column)
        if share < 0:
            raise RowError(f'column "{column}": "{text}" is negative')
        amount_of = Fraction(text or 0) * Quantity.parse(unit[1:]).nano_value()
        least, suffix = (_MILLI, "m") if resource == "cpu" else (_NANO, "")
        return f"{math.ceil(amount_of / least)}{suffix}" if share else ""
    try:
        amount = Quantity.parse(f"{text or 0}{unit}")
    except QuantityError:
        problem = f'"{text}{unit}" is not a Kubernetes quantity'
        raise RowError(f'column "{column}": {problem}') from None
    if amount.sign() < 0:
        raise RowError(f'column "{column}": "{text}" is negative')
    return f"{text}{unit}" if amount.sign() else ""


def divided(amount: str, resource: str, count: int, column: str) -> str:
    """Return the part of an amount for each of so many pods, rounded up to what Kubernetes counts.
    Raises RowError where a resource is not divisible."""
    total = Quantity.parse(amount).nano_value()
    if resource == "cpu":
        return f"{-(-total // (count * _MILLI))}m"
    share = -(-total // (count * _NANO))
    if resource not in NATIVE and share * count * _NANO != total:
        problem = f"{amount} of {resource} cannot be divided by {count}"
        raise RowError(f'column "{column}": {problem}')
    return str(share)

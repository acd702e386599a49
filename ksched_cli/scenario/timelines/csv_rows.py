"""Rows of a CSV file by the names of their columns, and what is in their cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import TypeAlias

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.stored_bytes import unpacked

Row: TypeAlias = Mapping[str, str]
# After so many rows that are wrong the others are not read.
_MAX_ERRORS = 100
# Resources that are divided as finely as Kubernetes counts them; others are whole.
NATIVE = ("cpu", "memory", "ephemeral-storage")
_NANO, _MILLI = 10**9, 10**6


class RowError(Exception):
    """An error in a row."""


@dataclass(slots=True)
class CsvFile:
    """A file of rows, gzipped or not.

    has_header: the first row names the columns; else they are 1, 2, …
    skips_bad: rows that are wrong are left out
    source: its name; columns: their names; errors: of the rows that are wrong
    """

    path: str
    has_header: bool = True
    skips_bad: bool = False
    source: str = ""
    columns: tuple[str, ...] = ()
    errors: list[InputError] = field(default_factory=list)
    _text: str = ""

    def open(self) -> None:
        """Reads it, and the names of its columns. Raises InputError."""
        raw, self.source = read_file(self.path)
        self._text = decode_text(unpacked(raw, self.source), self.source)
        first = next(iter(self._lines()), (0, []))[1]
        numbers = map(str, range(1, len(first) + 1))
        self.columns = tuple(first if self.has_header else numbers)

    def check_columns(self, names: Iterator[str]) -> None:
        """Raises InputError for a column that is not there."""
        for column in names:
            if column not in self.columns:
                listed = ", ".join(self.columns) or "none"
                hint = f'unknown column "{column}"; expected one of {listed}'
                raise InputError(self.source, hint)

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows with the line that each ends in; those that lack a cell are errors."""
        count = len(self.columns)
        for index, (line, cells) in enumerate(self._lines()):
            if (index == 0 and self.has_header) or not cells:
                continue
            if len(cells) != count:
                self.add_error(line, RowError(f"expected {count} values, got {len(cells)}"))
                continue
            yield line, dict(zip(self.columns, cells, strict=True))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(StringIO(self._text, newline=""))
        try:
            for cells in reader:
                yield reader.line_num, cells
        except csv.Error as error:
            position = Position(reader.line_num, 1)
            raise InputError(self.source, str(error), position=position) from None

    def add_error(self, line: int, error: RowError) -> None:
        """Raises InputError where there are too many."""
        position = Position(line, 1)
        self.errors.append(InputError(self.source, str(error), position=position))
        if len(self.errors) >= _MAX_ERRORS:
            self.raise_errors()

    def raise_errors(self) -> None:
        """Raises InputError with all of them, unless such rows are left out."""
        if self.errors and not self.skips_bad:
            first, *others = self.errors
            raise first.with_others(others)


def number_in(text: str, column: str) -> float:
    """Raises RowError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e20:
        raise RowError(f'column "{column}": expected a number, got "{text}"')
    return value


def count_in(text: str, column: str, most: int) -> int:
    """A whole number from 1 on. Raises RowError."""
    value = number_in(text, column)
    if value != int(value) or not 1 <= value <= most:
        problem = f"expected a whole number from 1 to {most:,}"
        raise RowError(f'column "{column}": {problem}; not "{text}"')
    return int(value)


def quantity_in(text: str, unit: str, column: str) -> str:
    """An amount as Kubernetes writes it; "" for none. Raises RowError."""
    try:
        amount = Quantity.parse(f"{text or 0}{unit}")
    except QuantityError:
        problem = f'"{text}{unit}" is not a Kubernetes quantity'
        raise RowError(f'column "{column}": {problem}') from None
    if amount.sign() < 0:
        raise RowError(f'column "{column}": "{text}" is negative')
    return f"{text}{unit}" if amount.sign() else ""


def divided(amount: str, resource: str, count: int, column: str) -> str:
    """The part of an amount for each of so many pods, rounded up to what Kubernetes counts. Raises
    RowError where a resource is not divisible."""
    total = Quantity.parse(amount).nano_value()
    if resource == "cpu":
        return f"{-(-total // (count * _MILLI))}m"
    share = -(-total // (count * _NANO))
    if resource not in NATIVE and share * count * _NANO != total:
        problem = f"{amount} of {resource} cannot be divided by {count}"
        raise RowError(f'column "{column}": {problem}')
    return str(share)

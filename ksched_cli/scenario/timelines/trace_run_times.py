"""Run times of a trace that depend on the node: from a column for each kind of node, or from a
table of throughputs, such as Gavel's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from ksched_cli.errors import InputError
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.scenario.timelines.csv_file import (
    Row,
    RowError,
    amount_in,
    cell,
    columns_in,
    text_in,
)

# In Gavel's files, the throughput of a job that shares its GPUs with no other.
_ALONE = "null"


@dataclass(frozen=True, slots=True)
class NodeRunTimes:
    """label:    of nodes
    columns:     by the label's value, the column with the durations there
    throughputs: by the label's value and by a row's key, units of work per second
    key:         of a row in `throughputs`: a text with {COLUMN} in it, or a column
    work:        the column with the units of work of a row
    """

    label: str
    columns: Mapping[str, str] = field(default_factory=dict)
    throughputs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    key: str = ""
    work: str = ""

    def named(self) -> Iterator[str]:
        yield from self.columns.values()
        if self.throughputs:
            yield from (self.work, *columns_in(self.key))

    def of(self, row: Row, seconds: Callable[[float], float]) -> dict[str, float]:
        """Return, by the label's value, how long the row runs there, in seconds; values without a
        cell or a throughput are left out. seconds: of a duration in the trace's unit. Raises
        RowError where no value is left."""
        times: dict[str, float] = {}
        for value, column in self.columns.items():
            if text := cell(row, column):
                times[value] = seconds(amount_in(text, column))
        if not self.throughputs:
            if not times:
                listed = ", ".join(self.columns.values())
                raise RowError(f"expected a duration in one of the columns {listed}")
            return times
        key, work = text_in(row, self.key), amount_in(cell(row, self.work), self.work)
        for value, by_key in self.throughputs.items():
            if rate := by_key.get(key):
                times[value] = work / rate
        if not times:
            raise RowError(f'there is no throughput for "{key}"')
        return times


def read_throughputs(path: str) -> dict[str, dict[str, float]]:
    """Read JSON that maps values of a label to keys to units per second; in place of a number there
    may be an object that has it as "null". Raises InputError."""
    raw, source = read_file(path)
    try:
        data = msgspec.json.decode(decode_text(unpacked(raw, source), source))
    except msgspec.DecodeError as error:
        raise InputError(source, f"this is not JSON: {error}") from None
    expected = 'expected {VALUE-OF-THE-LABEL: {KEY: units per second, or {"null": …}}}'
    if not isinstance(data, dict) or not data:
        raise InputError(source, expected)
    table: dict[str, dict[str, float]] = {}
    for value, by_key in data.items():
        if not isinstance(by_key, dict):
            raise InputError(source, expected, subject=value)
        table[value] = {}
        for key, entry in by_key.items():
            rate = entry.get(_ALONE) if isinstance(entry, dict) else entry
            if not isinstance(rate, int | float) or not 0 <= rate < 1e20:
                raise InputError(source, expected, subject=f"{value}: {key}")
            table[value][key] = rate
    return table

"""The rows of a sweep, a line of JSON each, appended and flushed as the runs end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from tempfile import NamedTemporaryFile
from types import TracebackType
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta, Struct

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.json_tree import replace_half_pairs
from ksched_cli.sweep.outcome import ERROR, LOST, OK, TIMEOUT

Row = dict[str, Any]


# Beyond these no run has figures, and sums of them are none.
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Figure = Annotated[float, Meta(ge=-1e300, le=1e300)]


class _Share(Struct, forbid_unknown_fields=True):
    mean: _Figure
    max: _Figure
    stddev: _Figure


class _Failed(Struct, rename="camel"):
    """A row of a run that did not come to its end, as schemas/sweep_row.json has it."""

    state: str
    configuration: str
    changes: str
    plugins: list[str]
    patches: dict[str, Any]
    kubernetes_version: str | None
    seed: int | None
    seconds: _Figure
    worker: str
    error: str = ""
    defect: bool = False


class _Ended(_Failed, rename="camel", kw_only=True):
    """A row of a run that did."""

    placed: _Count
    pending: _Count
    gated: _Count
    evicted: _Count
    nodes_used: _Count
    utilization: dict[str, _Share]
    placements: str
    metrics: dict[str, _Figure]


def problem_of(row: Row) -> str:
    """What is wrong with a row that has an id and a status; "" for nothing."""
    if row["status"] not in (OK, ERROR, TIMEOUT, LOST):
        return f"status {row['status']}"
    try:
        msgspec.convert(row, _Ended if row["status"] == OK else _Failed)
    except (msgspec.ValidationError, OverflowError) as error:
        return str(error)
    return ""


class RowsFile:
    """Rows that are there already, and those that are appended.

    settled: ids of the runs that need not be made again: those whose run ended, whatever came of it
    """

    def __init__(self, path: str = "") -> None:
        """path: "" for a file that is gone afterwards. Raises InputError for one with other things
        than rows in it, UsageError where it cannot be written."""
        self.settled: set[str] = set()
        self._is_temporary = not path
        try:
            if not path:
                with NamedTemporaryFile(prefix="ksched-rows-", delete=False) as file:
                    path = file.name
            self.path = path
            self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115  # closed by `close`
        except OSError as error:
            raise UsageError(f"--rows {path}: {error.strerror}") from None
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        end = 0
        is_whole = True
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                is_whole = False  # written when the sweep was ended
                break
            end += len(line)
            row = self._row_of(line, number)
            if row["status"] == LOST:
                self.settled.discard(row["id"])
            else:
                self.settled.add(row["id"])
        if not is_whole:
            self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)

    def _row_of(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(replace_half_pairs(line.decode()))
        except (ValueError, RecursionError):
            row = None
        values = [row.get(key) for key in ("id", "status")] if isinstance(row, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            hint = "Rows of a sweep are expected, or a file that there is not yet."
            raise InputError(self.path, f"line {number} is no row of a sweep", hint=hint)
        return row

    def append(self, row: Row) -> None:
        """Raises UsageError where it cannot be written."""
        try:
            self._file.write(json.dumps(row).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise UsageError(f"--rows {self.path}: {error.strerror}") from None
        if row["status"] != LOST:
            self.settled.add(row["id"])

    def rows(self) -> Iterator[Row]:
        """All of them, one after the other; of a run that was lost and made again, both."""
        with open(self.path, "rb") as file:
            for line in file:
                yield json.loads(replace_half_pairs(line.decode()))

    def close(self) -> None:
        self._file.close()
        if self._is_temporary:
            os.unlink(self.path)

    def __enter__(self) -> RowsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

"""The rows of a sweep, a line of JSON each, appended and flushed as the runs end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from tempfile import NamedTemporaryFile
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.json_tree import replace_half_pairs
from ksched_cli.kube.streams import LIMIT
from ksched_cli.sweep.outcome import ERROR, LOST, OK, TIMEOUT, Ended, Failed, Outcome

Row = dict[str, Any]

_BEGIN = b'{"id": "'  # of every row


def outcome_of(row: Any) -> Outcome:
    """The outcome in a row. Raises ValueError if there is none, or it was changed."""
    status = row.get("status") if isinstance(row, dict) else None
    if status not in (OK, ERROR, TIMEOUT, LOST):
        raise ValueError(f"status {status}")
    try:
        return msgspec.convert(row, Ended) if row["status"] == OK else msgspec.convert(row, Failed)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _is_torn(line: bytes) -> bool:
    """Whether it is the beginning of a row, which was being written when the sweep was ended."""
    is_cut = not line.endswith(b"\n") and _document(line) is None
    return is_cut and _BEGIN.startswith(line[: len(_BEGIN)])


def _document(line: bytes) -> Any:
    """None where it is not JSON."""
    try:
        return json.loads(replace_half_pairs(line.decode()))
    except (ValueError, RecursionError):
        return None


class RowsFile:
    """Rows that are there already, and those that are appended.

    settled: ids of the runs that need not be made again: those whose run ended, whatever came of it
    """

    def __init__(self, path: str = "", *, dry_run: bool = False) -> None:
        """path: "" for a file that is gone afterwards. dry_run: an existing file stays as it
        is, and nothing is appended. Raises InputError for one with other things than rows in it,
        UsageError where it cannot be written."""
        self.settled: set[str] = set()
        self._offsets: dict[str, int] = {}  # of each run's last row
        if dry_run and not os.path.exists(path):
            path = ""
        self._is_temporary = not path
        try:
            if not path:
                with NamedTemporaryFile(prefix="ksched-rows-", delete=False) as file:
                    path = file.name
            self.path = path
            if os.path.exists(path) and not os.path.isfile(path):
                raise UsageError(
                    f"--rows {path}: expected a plain file, which ksched can read again"
                )
            # Closed by `close`.
            self._file: BinaryIO = open(path, "rb" if dry_run else "a+b")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"--rows {path}: {error.strerror}") from None
        try:
            end = self._read()
            if not dry_run:
                self._file.truncate(end)
                self._end_last_line(end)
        except BaseException:
            self.close()
            raise

    def _read(self) -> int:
        """Where the last whole row ends."""
        end = 0
        self._file.seek(0)
        lines = iter(lambda: self._file.readline(LIMIT.size - end + 1), b"")
        for number, line in enumerate(lines, 1):
            if end + len(line) > LIMIT.size:
                raise LIMIT.exceeded(self.path)
            if _is_torn(line):
                break
            self._note(self._row_of(line, number), end)
            end += len(line)
        return end

    def _note(self, row: Row, offset: int) -> None:
        self._offsets[row["id"]] = offset
        if row["status"] == LOST:
            self.settled.discard(row["id"])
        else:
            self.settled.add(row["id"])

    def _end_last_line(self, end: int) -> None:
        """An editor may have left out what ends the last row."""
        self._file.seek(max(end - 1, 0))
        if self._file.read(1) not in (b"", b"\n"):
            self._file.write(b"\n")

    def _row_of(self, line: bytes, number: int) -> Row:
        row = _document(line)
        values = [row.get(key) for key in ("id", "status")] if isinstance(row, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            hint = "Name a file with rows of this sweep, or a new file."
            raise InputError(self.path, f"line {number} is not a row of a sweep", hint=hint)
        return row

    def append(self, row: Row) -> None:
        """Raises UsageError where it cannot be written."""
        line = json.dumps(row).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"--rows {self.path}: {error.strerror}") from None
        self._note(row, self._file.tell() - len(line))

    def __contains__(self, identity: str) -> bool:
        return identity in self._offsets

    def rows(self, ids: Iterable[str] | None = None) -> Iterator[Row]:
        """The last row of each of these runs, where there is one; without ids of all runs."""
        with open(self.path, "rb") as file:
            for identity in self._offsets if ids is None else ids:
                if identity in self:
                    file.seek(self._offsets[identity])
                    yield _document(file.readline())

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

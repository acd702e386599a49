"""A run, and what comes of it: the part of a row that is not its parameters. The rows of a sweep, a
line of JSON each, appended and flushed as the runs end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from tempfile import NamedTemporaryFile
from time import perf_counter
from types import TracebackType
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct, structs

from ksched_cli.analysis.metrics import MeasuringPlugins, Metric
from ksched_cli.analysis.run_figures import (
    ERROR,
    OK,
    Ended,
    Failed,
    Outcome,
    figures_of_replay,
    figures_of_simulation,
)
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import InputError, KschedError, PluginDefectError, UsageError
from ksched_cli.kube.json_tree import replace_half_pairs
from ksched_cli.kube.streams import LIMIT
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import Run
from ksched_cli.sweep.preparation import Shared

Row = dict[str, Any]  # plain data: RowHead, RowParameters, and Ended or Failed


class RowHead(Struct, frozen=True):
    """What every row has.

    id: The same for the same state, configuration, options, seed, plugin files and versions.
    """

    id: str
    status: str


_BEGIN = b'{"id": "'  # of every row


def outcome_of(row: Any) -> Outcome:
    """Return the outcome in a row. Raises ValueError if there is none, or it was changed."""
    status = row.get("status") if isinstance(row, dict) else None
    if status not in (OK, ERROR, TIMEOUT, LOST):
        raise ValueError(f"status {status}")
    try:
        return msgspec.convert(row, Ended) if row["status"] == OK else msgspec.convert(row, Failed)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(str(error)) from None


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
                # An editor may have left out what ends the last row.
                self._file.seek(max(end - 1, 0))
                if self._file.read(1) not in (b"", b"\n"):
                    self._write(b"\n")
        except BaseException:
            self.close()
            raise

    def _read(self) -> int:
        """Return where the last whole row ends."""
        end = 0
        self._file.seek(0)
        lines = iter(lambda: self._file.readline(LIMIT.size - end + 1), b"")
        for number, line in enumerate(lines, 1):
            if end + len(line) > LIMIT.size:
                raise LIMIT.exceeded(self.path)
            row: Row = _document(line)
            is_cut = not line.endswith(b"\n") and row is None
            if is_cut and _BEGIN.startswith(line[: len(_BEGIN)]):
                break  # the beginning of a row, which was being written when the sweep was ended
            try:
                msgspec.convert(row, RowHead)
            except msgspec.ValidationError:
                hint = "Name a file with rows of this sweep, or a new file."
                problem = f"line {number} is not a row of a sweep"
                raise InputError(self.path, problem, hint=hint) from None
            self._note(row, end)
            end += len(line)
        return end

    def _note(self, row: Row, offset: int) -> None:
        self._offsets[row["id"]] = offset
        if row["status"] == LOST:
            self.settled.discard(row["id"])
        else:
            self.settled.add(row["id"])

    def append(self, row: Row) -> None:
        """Append a row, whole. Raises UsageError where it cannot be written."""
        line = json.dumps(row).encode() + b"\n"
        self._write(line)
        self._note(row, self._file.tell() - len(line))

    def _write(self, line: bytes) -> None:
        """Write a line, and flush it. Raises UsageError where it cannot be written."""
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"--rows {self.path}: {error.strerror}") from None

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
        with suppress(OSError):  # what could not be written once is tried again, and was told
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


TIMEOUT: Final = "timeout"
LOST: Final = "lost"
DIGITS = 6
SERIAL = "serial"


def is_evicting(outcome: Outcome) -> bool:
    """Return whether pods were evicted in the run."""
    return isinstance(outcome, Ended) and outcome.evicted > 0


class Task(Struct, frozen=True):
    """A run to make. id: of its row; number: in its plan"""

    id: str
    run: Run
    number: int = 0


class Performer:
    """Makes runs in this process. What they have in common is read once."""

    def __init__(
        self,
        shared: Shared,
        opener: Opener | None = None,
        on_replay: Callable[[Replay], object] = lambda replay: None,
        metrics: Sequence[Metric] = (),
    ) -> None:
        """opener: of the Runs, where they are opened in this process for other questions, too
        metrics: in place of those that have to be loaded
        on_replay: called with each replay that has ended"""
        self._shared, self._on_replay = shared, on_replay
        self._opener = opener or shared.opener()
        self._given = metrics

    @cached_property
    def _metrics(self) -> tuple[Metric, ...]:
        """Return the metrics of the caller and of the Runs. Raises UsageError where a function
        cannot be loaded."""
        return (*self._given, *self._shared.load_metrics())

    def read(self, run: Run) -> None:
        """The state of a run, which takes long. What is wrong with it, `perform` says."""
        try:
            self._opener.base_state(run)
        except Exception:
            return

    def perform(self, task: Task) -> Outcome:
        """Whatever goes wrong in the run is in its outcome."""
        begin = perf_counter()
        outcome: Outcome
        try:
            if task.run.timeline:
                measuring = MeasuringPlugins()
                watch = Watch(keeps_records=True, on_instant=measuring.measure)
                replay = self._opener.replay(task.run, watch)
                try:
                    replay.run()
                    measuring.measure(replay)
                finally:
                    replay.cluster.engine.close()
                outcome = self.after_replay(task.run, replay)
            else:
                simulation = self._opener.simulation(task.run)
                try:
                    record = simulation.run()
                finally:
                    simulation.close()
                outcome = self.after_simulation(task.run, simulation, record)
        except KschedError as error:
            outcome = Failed(error=str(error), is_defect=isinstance(error, PluginDefectError))
        except MemoryError:
            outcome = Failed(error="the memory that ksched may use is not enough")
        except Exception as error:
            outcome = Failed(error=f"{type(error).__name__}: {error}", is_defect=True)
        return structs.replace(outcome, seconds=round(perf_counter() - begin, DIGITS))

    def after_simulation(self, run: Run, simulation: Simulation, record: RunRecord) -> Outcome:
        """Return the outcome of a Run at one instant, which has ended. Raises KschedError."""
        return figures_of_simulation(run, simulation, record, self._metrics)

    def after_replay(self, run: Run, replay: Replay) -> Outcome:
        """Return the outcome of a Run over time, which has ended. Raises KschedError."""
        if not replay.scheduler.failed:
            self._on_replay(replay)
        return figures_of_replay(self._opener, run, replay, self._metrics)

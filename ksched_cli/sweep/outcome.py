"""A run, and what comes of it: the part of a row that is not its parameters. The rows of a sweep, a
line of JSON each, appended and flushed as the runs end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from tempfile import NamedTemporaryFile
from time import perf_counter
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from ksched_cli.analysis.best_placement import Regret, regret_at_end, regret_of
from ksched_cli.analysis.metrics import MeasuringPlugins, Metric, own_figures
from ksched_cli.analysis.replay_figures import (
    Durations,
    JobFigures,
    replay_figures,
)
from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.analysis.usage import nodes_used, utilization
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import InputError, KschedError, PluginDefectError, UsageError
from ksched_cli.kube.json_tree import replace_half_pairs
from ksched_cli.kube.streams import LIMIT
from ksched_cli.run.inputs import DIGEST_LENGTH
from ksched_cli.run.open import Opener, Watch, name_of
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


def _is_torn(line: bytes) -> bool:
    """Return whether it is the beginning of a row, which was being written when the sweep was
    ended."""
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
        """Return where the last whole row ends."""
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
            self._write(b"\n")

    def _row_of(self, line: bytes, number: int) -> Row:
        row: Row = _document(line)
        try:
            msgspec.convert(row, RowHead)
        except msgspec.ValidationError:
            hint = "Name a file with rows of this sweep, or a new file."
            problem = f"line {number} is not a row of a sweep"
            raise InputError(self.path, problem, hint=hint) from None
        return row

    def append(self, row: Row) -> None:
        """Raises UsageError where it cannot be written."""
        line = json.dumps(row).encode() + b"\n"
        self._write(line)
        self._note(row, self._file.tell() - len(line))

    def _write(self, line: bytes) -> None:
        """Raises UsageError where it cannot be written."""
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


OK: Final = "ok"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
LOST: Final = "lost"
DIGITS = 6
SERIAL = "serial"

# Beyond these no run has figures, and sums of them are none.
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Figure = Annotated[float, Meta(ge=-1e300, le=1e300)]
Sum = Annotated[float, Meta(ge=0, le=1e300)]


class _Attempted(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the row of every run has.

    seconds: The seconds that the run took.
    worker: The process that made it.
    """

    seconds: Sum = 0.0
    worker: str = ""


class Failed(_Attempted, frozen=True, kw_only=True):
    """A run that did not come to its end.

    is_defect: The error is of a plugin or of ksched, not of what the run is made from.
    """

    status: Literal["error", "timeout", "lost"] = ERROR
    error: str
    is_defect: bool = msgspec.field(default=False, name="defect")


class Share(Struct, frozen=True, forbid_unknown_fields=True):
    """What pods request of what the nodes have."""

    mean: Figure
    max: Figure
    stddev: Figure


class BestPlacement(Struct, frozen=True, rename="camel"):
    """What the best placement has beyond the run, and what none exceeds; see Regret."""

    regret: Sum
    at_most: Sum

    @classmethod
    def of(cls, regret: Regret | UnsetType) -> BestPlacement | UnsetType:
        return cls(regret.regret, regret.at_most) if regret else UNSET


class Ended(_Attempted, frozen=True, kw_only=True):
    """A run that came to its end. What follows `metrics` is of replays, see ReplayFigures.

    nodes_used: The nodes with pods at the end; of a replay the most at one moment.
    utilization: The shares by resource; of a replay, at its end.
    placements: A digest: the same where the same pods are on the same nodes.
    metrics: The metrics of plugins and of --metric.
    best: The best placement, where the file asks for regret; that of a replay is at its end.
    ended: This and what follows, up to cost: of replays.
    wait: Seconds from creation to placement, of pods that were placed or still wait at the end.
    job_completion_time: Seconds from creation to end, of pods that were placed and ended.
    jobs: Of pod groups, controllers and pods alone that were completed.
    pending_hours: The hours that pods waited, added up.
    node_hours: The hours that nodes were there, added up.
    used_node_hours: The hours that nodes had pods, added up.
    cost: The cost of the nodes, where prices are given.
    """

    status: Literal["ok"] = OK
    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    nodes_used: Count
    utilization: dict[str, Share]
    placements: str
    metrics: dict[str, Figure]
    best: BestPlacement | UnsetType = UNSET
    ended: Count | UnsetType = UNSET
    wait: Durations | UnsetType = UNSET
    job_completion_time: Durations | UnsetType = UNSET
    jobs: JobFigures | UnsetType = UNSET
    pending_hours: Sum | UnsetType = UNSET
    node_hours: Sum | UnsetType = UNSET
    used_node_hours: Sum | UnsetType = UNSET
    cost: Sum | UnsetType = UNSET

    def figures(self) -> dict[str, float]:
        """Return all of its numbers, `utilization.cpu.mean` among them."""
        plain = msgspec.to_builtins(self)
        own, seconds = plain.pop("metrics"), plain.pop("seconds")
        return {**dict(_numbers(plain)), "seconds": seconds, **own}


def _numbers(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}.")
        elif not isinstance(value, str):
            yield f"{prefix}{name}", value


Outcome: TypeAlias = Ended | Failed


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
        """Raises UsageError where a function cannot be loaded."""
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
            outcome = self._replay(task.run) if task.run.timeline else self._simulate(task.run)
        except KschedError as error:
            outcome = Failed(error=str(error), is_defect=isinstance(error, PluginDefectError))
        except MemoryError:
            outcome = Failed(error="the memory that ksched may use is not enough")
        except Exception as error:
            outcome = Failed(error=f"{type(error).__name__}: {error}", is_defect=True)
        return structs.replace(outcome, seconds=round(perf_counter() - begin, DIGITS))

    def _simulate(self, run: Run) -> Outcome:
        """Raises KschedError."""
        simulation = self._opener.simulation(run)
        try:
            record = simulation.run()
        finally:
            simulation.close()
        return self.after_simulation(run, simulation, record)

    def after_simulation(self, run: Run, simulation: Simulation, record: RunRecord) -> Outcome:
        """Return the outcome of a Run at one instant, which has ended. Raises KschedError."""
        if record.failed:
            return _failure_of(simulation)
        regret: Regret | UnsetType = UNSET
        if run.regret:
            regret = regret_of(simulation, record, run.regret, run.time_limit, self._metrics)
        lines = [f"{pod} {node}\n" for pod, node in record.placements.items()]
        return Ended(
            placed=len(record.placements),
            pending=len(record.pending),
            gated=len(record.gated),
            evicted=len(record.evicted),
            nodes_used=nodes_used(simulation.snapshot),
            utilization=_utilization(simulation),
            placements=_digest(lines, (eviction.pod for eviction in record.evicted)),
            metrics=own_figures(simulation, self._metrics, lambda: record),
            best=BestPlacement.of(regret),
        )

    def _replay(self, run: Run) -> Outcome:
        """Raises KschedError."""
        measuring = MeasuringPlugins()
        watch = Watch(keeps_records=True, on_instant=measuring.measure)
        replay = self._opener.replay(run, watch)
        try:
            replay.run()
            measuring.measure(replay)
        finally:
            replay.cluster.engine.close()
        return self.after_replay(run, replay)

    def after_replay(self, run: Run, replay: Replay) -> Outcome:
        """Return the outcome of a Run over time, which has ended. Raises KschedError."""
        engine, log = replay.cluster.engine, replay.log
        if replay.scheduler.failed:
            return _failure_of(engine)
        self._on_replay(replay)
        figures = replay_figures(replay)
        outcomes = [each.outcome for each in log.live.values()]
        lines = [f"{pod.pod} {pod.node} {pod.placed}\n" for pod in log.records if pod.node]
        evicted = (pod.pod for pod in log.records if pod.evicted is not None)
        regret = regret_at_end(self._opener, run, replay, self._metrics)
        ended = Ended(
            placed=log.counts.placed,
            pending=outcomes.count(PodOutcome.PENDING),
            gated=outcomes.count(PodOutcome.GATED),
            evicted=log.counts.evicted,
            nodes_used=figures.nodes_used,
            utilization=_utilization(engine),
            placements=_digest(lines, evicted),
            metrics=own_figures(
                engine, self._metrics, lambda: replay_result(replay, name_of(run.timeline))
            ),
            best=BestPlacement.of(regret),
        )
        present = {name: each for name, each in structs.asdict(figures).items() if each is not None}
        return structs.replace(ended, **present)


def _utilization(engine: Engine) -> dict[str, Share]:
    return {
        resource: Share(*(round(each, DIGITS) for each in (share.mean, share.max, share.stddev)))
        for resource, share in utilization(engine.snapshot).items()
    }


def _failure_of(engine: Engine) -> Failed:
    defects = engine.caller.defects.values()
    texts = [f"plugin {item.plugin} failed in {item.point}: {item.problem}" for item in defects]
    return Failed(error="; ".join(texts) or "a plugin failed", is_defect=True)


def _digest(lines: Iterable[str], evicted: Iterable[str]) -> str:
    parts = sorted(lines) + sorted(f"evicted {pod}\n" for pod in evicted)
    return sha256("".join(parts).encode()).hexdigest()[:DIGEST_LENGTH]

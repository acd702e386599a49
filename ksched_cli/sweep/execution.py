"""Makes the runs of a plan that there are no rows of yet, and writes their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import msgspec

from ksched_cli.analysis.run_figures import Outcome
from ksched_cli.errors import InputError, MissingExtraError
from ksched_cli.run.run import Run
from ksched_cli.sweep.outcome import Row, RowsFile, Task, outcome_of
from ksched_cli.sweep.plan import Indexes, Parameters, StudyPlan
from ksched_cli.sweep.preparation import Shared, every
from ksched_cli.sweep.run_process import Executor, ExecutorOptions, serially, side_by_side

OnRow = Callable[[int, int], None]


@contextmanager
def open_executor(shared: Shared, options: ExecutorOptions) -> Iterator[tuple[Executor, int]]:
    """What makes runs, and how many workers it has. Raises KschedError if there is no Dask, or
    the cluster cannot be used."""
    if not options.address:
        executor = (
            side_by_side(shared, options) if options.workers else serially(shared, options.timeout)
        )
        yield executor, max(options.workers, 1)
        return
    try:
        from ksched_cli.sweep.dask_workers import on_cluster
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise MissingExtraError("--scheduler", "sweep") from None
    with on_cluster(shared, options) as executor_of_workers:
        yield executor_of_workers


class Result(NamedTuple):
    """A run of a plan that has a row. indexes: of its values; variant, pair: see Plan"""

    id: str
    variant: str
    pair: Indexes
    parameters: Parameters
    outcome: Outcome
    indexes: Indexes = ()


@dataclass(frozen=True)
class Execution:
    """A plan, and where its rows go.

    ids: of the plan's runs, in order; equal ones are one run
    """

    plan: StudyPlan
    rows: RowsFile
    ids: Sequence[str]

    @classmethod
    def of(cls, plan: StudyPlan, shared: Shared, rows: RowsFile) -> Execution:
        """Return the execution of a plan, with the rows that are there already. Raises InputError
        for a row of this plan that was changed since it was written."""
        execution = cls(plan, rows, [shared.id_of(run) for run in plan.runs()])
        for row in rows.rows(execution._unique):
            try:
                outcome_of(row)
            except ValueError as error:
                hint = "Do not edit rows; remove this one to make the run again."
                problem = f"the row of run {row['id']}: {error}"
                raise InputError(rows.path, problem, hint=hint) from None
        return execution

    @cached_property
    def _unique(self) -> dict[str, None]:
        return dict.fromkeys(self.ids)

    @property
    def planned(self) -> int:
        """Return the number of runs."""
        return len(self._unique)

    @property
    def resumed(self) -> int:
        """How many of them have rows already."""
        return len(self._unique.keys() & self.rows.settled)

    def missing(self) -> Iterator[Task]:
        """The runs without rows; each once."""
        queued = set(self.rows.settled)
        for number, identity in enumerate(self.ids):
            if identity not in queued:
                queued.add(identity)
                yield Task(identity, self.plan.run(self.plan.at(number)), number)

    def execute(self, executor: Executor, on_row: OnRow | None = None) -> int:
        """Make the missing runs, and return how many there were. on_row: called with how many rows
        there are, and of how many."""
        done = self.resumed
        count = self.planned - done
        for task, outcome in executor(self.missing(), count):
            self.rows.append(self._row(task.id, task.number, msgspec.to_builtins(outcome)))
            done += 1
            if on_row is not None:
                on_row(done, self.planned)
        return count

    def _row(self, identity: str, number: int, outcome: Row) -> Row:
        return {"id": identity, **self.plan.parameters(self.plan.at(number)), **outcome}

    def all_rows(self) -> Iterator[Row]:
        """Those of this plan's runs, in its order and by its names; the file may have others."""
        for number, row in self._numbered():
            yield self._row(row["id"], number, msgspec.to_builtins(outcome_of(row)))

    def results(self) -> Iterator[Result]:
        """Yield the same, to be compared."""
        plan = self.plan
        for number, row in self._numbered():
            indexes = plan.at(number)
            parameters, outcome = plan.parameters(indexes), outcome_of(row)
            variant, pair = plan.variant(indexes), plan.pair(indexes)
            yield Result(row["id"], variant, pair, parameters, outcome, indexes)

    def _numbered(self) -> Iterator[tuple[int, Row]]:
        numbers = (number for number, identity in enumerate(self.ids) if identity in self.rows)
        return zip(numbers, self.rows.rows(self.ids), strict=True)

    def sample(
        self, executor: Executor, may_import: Callable[[Run], bool] = every
    ) -> Outcome | None:
        """The outcome of a run whose state has been read; None where no run is missing whose
        plugins may be imported. No row is written."""
        tasks = list(islice((task for task in self.missing() if may_import(task.run)), 1))
        if not tasks:
            return None
        times = 1 if tasks[0].run.timeline else 2  # a replay takes longer than reading its state
        *_, (_, outcome) = executor(iter(tasks * times), times)
        return outcome

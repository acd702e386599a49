"""Makes the runs of a plan that there are no rows of yet, and writes their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ksched_cli.errors import InputError
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import Outcome
from ksched_cli.sweep.plan import Plan, Variants
from ksched_cli.sweep.rows import Row, RowsFile, problem_of
from ksched_cli.sweep.run_process import RunProcess

# Gives every run with its outcome, in any order. The second argument is how many runs there are.
Executor = Callable[[Iterator[Run], int], Iterator[tuple[Run, Outcome]]]
OnRow = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """workers: how many to start on this machine; address: of the scheduler of a cluster, in place
    of them; without both, runs are made one after the other
    retries: how often runs are sent again whose worker is gone
    timeout: seconds that a run may take
    """

    workers: int = 0
    address: str = ""
    retries: int = 2
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class Execution:
    """A plan, and where its rows go.

    ids:      of all runs of the plan
    variants: their names, in order; the first is the baseline
    """

    plan: Plan
    rows: RowsFile
    ids: set[str] = field(default_factory=set)
    variants: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, rows: RowsFile) -> Execution:
        """Raises InputError, see `check`."""
        execution = cls(plan, rows)
        comparison = Variants.of(plan)
        for run in plan.runs():
            execution.ids.add(run.id)
            execution.variants[comparison.name_of(plan.parameters(run))] = None
        for row in execution.all_rows():
            execution.check(row, comparison)
        return execution

    def check(self, row: Row, comparison: Variants) -> None:
        """Raises InputError for a row of this plan that was changed since it was written."""
        problem = problem_of(row)
        if not problem and row["patches"].keys() != {axis.name for axis in self.plan.patches}:
            problem = "it has other patches than the sweep"
        if not problem and comparison.name_of(row) not in self.variants:
            problem = "the sweep has no such run"
        if problem:
            hint = "Rows are not to be changed; without this one, the run is made again."
            raise InputError(self.rows.path, f"the row of run {row['id']}: {problem}", hint=hint)

    @property
    def resumed(self) -> int:
        """How many runs have rows already."""
        return len(self.ids & self.rows.settled)

    def missing(self) -> Iterator[Run]:
        """The runs without rows; each once."""
        queued = set(self.rows.settled)
        for run in self.plan.runs():
            if run.id not in queued:
                queued.add(run.id)
                yield run

    def execute(self, executor: Executor, on_row: OnRow | None = None) -> int:
        """Makes the missing runs, and returns how many there were. on_row: called with how many
        rows there are, and of how many."""
        done = self.resumed
        count = len(self.ids) - done
        for run, outcome in executor(self.missing(), count):
            self.rows.append({"id": run.id, **self.plan.parameters(run), **outcome})
            done += 1
            if on_row is not None:
                on_row(done, len(self.ids))
        return count

    def all_rows(self) -> Iterator[Row]:
        """Those of this plan's runs; the file may have others."""
        return (row for row in self.rows.rows() if row["id"] in self.ids)

    def sample(self, executor: Executor) -> tuple[float, Outcome] | None:
        """The seconds that a run takes once its state has been read, and its outcome; None where no
        run is missing. No row is written."""
        runs = list(islice(self.missing(), 1))
        if not runs:
            return None
        *_, (_, outcome) = executor(iter(runs * 2), 2)
        return outcome["seconds"], outcome


def serially(materials: Materials, timeout: float) -> Executor:
    """One run after the other, in a process that is not this one.

    timeout: seconds that a run may take
    """

    def execute(runs: Iterator[Run], count: int) -> Iterator[tuple[Run, Outcome]]:
        process = RunProcess(materials, timeout)
        try:
            for run in runs:
                yield run, {**process.perform(run), "worker": "serial"}
        finally:
            process.close()

    return execute

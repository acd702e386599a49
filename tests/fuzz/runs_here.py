"""Sweeps that start no processes, which would take longer than all that they do."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest import mock

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.sweep import run_process
from ksched_cli.sweep.outcome import Performer, Task
from ksched_cli.sweep.preparation import Shared

# More runs of a sweep than so many are not made, but have the outcome of the last.
RUNS_MAX = 3


class RunHere:
    """In place of RunProcess: runs in this process, from what it would send to another."""

    def __init__(self, shared: Shared, timeout: float) -> None:
        self._performer = Performer(pickle.loads(pickle.dumps(shared)))
        self._count = 0
        self._last: Outcome = Failed(error="no run was made")

    def perform_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        return ((task, self.perform(task)) for task in tasks)

    def perform(self, task: Task) -> Outcome:
        self._count += 1
        if self._count <= RUNS_MAX:
            outcome = self._performer.perform(pickle.loads(pickle.dumps(task)))
            assert not (isinstance(outcome, Failed) and outcome.is_defect), outcome
            self._last = pickle.loads(pickle.dumps(outcome))
        return self._last

    def close(self) -> None:
        pass


@contextmanager
def runs_here() -> Iterator[None]:
    with mock.patch.object(run_process, "RunProcess", RunHere):
        yield

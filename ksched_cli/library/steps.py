"""A Run pod by pod: look at each attempt, change the cluster between two of them, continue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ksched_cli.analysis.attempts import AttemptTrace, trace_of
from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.answers import AppliedChange
from ksched_cli.engine.records import RunRecord
from ksched_cli.library.given import Change, Manifest, change_of
from ksched_cli.run.open import Watch
from ksched_cli.run.run import Run
from ksched_cli.scenario.change import apply_changes

if TYPE_CHECKING:
    from ksched_cli.library.question import Question


class OpenRun:
    """An iterator over the attempts of a run, in order. It ends when no pod is left to try; after a
    change it may continue.

        simulation = run.open()
        for attempt in simulation:
            if attempt.node == "n1":
                simulation.change("drain n1")
    """

    def __init__(self, question: Question) -> None:
        (run,) = question.runs
        self._question, self._run = question, run
        self._simulation = question.simulation(run, Watch(detailed=True))
        self._earlier = RunRecord((), {}, (), {}, (), {}, (), ())
        self._begin()

    def _begin(self) -> None:
        self._steps = self._simulation.steps()
        self._shown = 0  # of the simulation's attempts

    def __iter__(self) -> Iterator[AttemptTrace]:
        return self

    def __next__(self) -> AttemptTrace:
        attempts = self._simulation.scheduler.attempts
        while self._shown == len(attempts):
            next(self._steps)
        self._shown += 1
        return trace_of(attempts[self._shown - 1])

    @property
    def placements(self) -> dict[str, str]:
        """Pod → node, of the pods placed so far that are still there."""
        return dict(self._record().placements)

    @property
    def pending(self) -> tuple[str, ...]:
        """The pods that are neither placed nor gated now, in the order of the queue."""
        return self._record().pending

    def put(self, manifest: Manifest) -> tuple[AppliedChange, ...]:
        """Applies an object, as a pod that comes now. Raises KschedError."""
        return self.change({"apply": dict(manifest)})

    def change(self, *changes: Change) -> tuple[AppliedChange, ...]:
        """Apply these changes to the cluster as it is now, and return what they did. Pods that
        failed, and those that wait in Permit, are tried again. Raises KschedError."""
        run = Run(changes=tuple(map(change_of, changes)), namespace=self._run.namespace)
        parsed = self._question.inputs.changes(run)
        before, self._earlier = self._simulation, self._record()
        state, records = apply_changes(
            before.current_state(), parsed, workloads=self._run.workloads
        )
        self._simulation = before.renewed(state)
        self._begin()
        return tuple(AppliedChange(record.text, record.did) for record in records)

    def result(self) -> ScheduleResult:
        """Return the result so far, as `ksched schedule` shows a run."""
        question, simulation = self._question, self._simulation
        answer = result_of(simulation, self._record(), before=())
        question.conclude(simulation)
        return question.complete(answer, [simulation.state])

    def _record(self) -> RunRecord:
        """The record of everything since the beginning."""
        earlier, now = self._earlier, self._simulation.record()
        on_nodes = {pod.key for pods in self._simulation.snapshot.pods for pod in pods}
        placements = {
            pod: node
            for pod, node in {**earlier.placements, **now.placements}.items()
            if pod in on_nodes
        }
        return RunRecord(
            earlier.attempts + now.attempts,
            placements,
            now.pending,
            now.gated,
            earlier.evicted + now.evicted,
            {**earlier.last, **now.last},
            now.failed,
            now.ignored,
        )

"""What a Python program sees of a Run while it is answered, and the steps of a Run: look at each
attempt, change the cluster between two of them, continue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.analysis.attempts import AttemptTrace, trace_of
from ksched_cli.analysis.question import Observer, Opened
from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.answers import AppliedChange
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.library.given import Change, Manifest, Progress, change_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.rollout import rolling
from ksched_cli.run.run import Run
from ksched_cli.scenario.change import apply_changes

WHOLE = 1_000  # a replay, which is done in thousandths


class ProgressCalls(Observer):
    """Calls the program's `progress`, of replays with the thousandths that are done."""

    def __init__(self, call: Progress | None) -> None:
        self._call = call
        self._noted = -1

    @contextmanager
    def progress(self, noun: str) -> Iterator[Progress | None]:
        yield self._call

    @contextmanager
    def replaying(self, replay: Replay) -> Iterator[None]:
        self._noted = -1
        yield

    def after_instant(self, replay: Replay) -> None:
        done = int(replay.share_done * WHOLE)
        if self._call is not None and done > self._noted:
            self._noted = done
            self._call(done, WHOLE)


class OpenRun:
    """An iterator over the attempts of a run, in order. It ends when no pod is left to try; after a
    change it may continue.

        simulation = run.open()
        for attempt in simulation:
            if attempt.node == "n1":
                simulation.change("drain n1")
    """

    def __init__(self, inputs: Inputs, run: Run) -> None:
        self._run = run
        opener = Opener([self._run], inputs)
        self._opened = Opened(opener, [self._run], Observer())
        opener.warn = self._opened.warn
        self._simulation = self._opened.simulation(watch=Watch(detailed=True))
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
        """Return the pods that are neither placed nor gated now, in the order of the queue."""
        return self._record().pending

    def put(self, manifest: Manifest) -> tuple[AppliedChange, ...]:
        """Apply an object, as a pod that comes now. Raises KschedError."""
        return self.change({"apply": dict(manifest)})

    def change(self, *changes: Change) -> tuple[AppliedChange, ...]:
        """Apply these changes to the cluster as it is now, and return what they did. A changed
        template is rolled out, its pods placed by the steps of the rollout. Pods that failed, and
        those that wait in Permit, are tried again. Raises KschedError."""
        run = Run(changes=tuple(map(change_of, changes)), namespace=self._run.namespace)
        parsed = self._opened.opener.inputs.changes(run)
        before, self._earlier = self._simulation, self._record()

        def open_like(state: ClusterState) -> Simulation:
            # What the run has assumed holds in the steps of a rollout, too.
            return before.renewed(state, before=None)

        state, records = apply_changes(
            before.current_state(),
            parsed,
            workloads=self._run.workloads,
            roll=rolling(open_like, before.configuration.release),
        )
        self._simulation = before.renewed(state)
        before.close()
        self._begin()
        return tuple(record.applied for record in records)

    def result(self) -> ScheduleResult:
        """Return the result so far, as `ksched schedule` shows a run."""
        simulation = self._simulation
        answer = result_of(simulation, self._record(), before=())
        self._opened.conclude(simulation)
        self._opened.follow(simulation.configuration.release, simulation.state)
        return self._opened.complete(answer)

    def _record(self) -> RunRecord:
        """Return the record of everything since the beginning."""
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

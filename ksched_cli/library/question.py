"""A question that a Python program asks about its Runs, the warnings beside its answer, and the
steps of a Run: look at each attempt, change the cluster between two of them, continue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from ksched_cli.analysis.attempts import AttemptTrace, trace_of
from ksched_cli.analysis.named_objects import Subject
from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.answers import Answer, AppliedChange
from ksched_cli.engine.records import RunRecord
from ksched_cli.errors import shortened_lines
from ksched_cli.kube.versions import Release
from ksched_cli.library.given import Change, Given, Manifest, Progress, State, change_of
from ksched_cli.report.changes import completed
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.remarks import engine_of, lines_after, lines_before
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.scenario.change import apply_changes

if TYPE_CHECKING:
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.engine.simulation import Simulation

A = TypeVar("A", bound=Answer)


class Describes(Protocol):
    """A Run of a Python program."""

    @property
    def state(self) -> State: ...

    def described(self, given: Given, uses: Collection[str]) -> Run:
        """The Run as the engine knows it. given: takes what is in no file; uses: as Run.check has
        it"""
        ...


WHOLE = 1_000  # a replay, which is done in thousandths


class Question:
    """Opens the Runs of one question. It shares nothing with other questions, so that threads may
    ask at once.

    runs:     as the engine knows them
    warnings: in the order in which they came up, each once
    """

    def __init__(self, runs: Iterable[Describes], uses: Collection[str] = ()) -> None:
        runs = tuple(runs)
        self.inputs = Inputs(keeps_states=len({id(run.state) for run in runs}) > 1)
        self.given = Given(self.inputs)
        self.runs = [run.described(self.given, uses) for run in runs]
        self.warnings: dict[str, None] = {}
        self.opener = Opener(self.runs, self.inputs, warn=self.warn)
        self.release: Release | None = None

    def warn(self, *lines: str) -> None:
        self.warnings |= dict.fromkeys(map(shortened_lines, lines))

    def introduce(self, *opened: Simulation | Replay) -> None:
        """Before any of these runs: the first one's release is the answer's."""
        self.release = engine_of(opened[0]).configuration.release
        self.warn(*lines_before(*opened))

    def simulation(self, run: Run | None = None, watch: Watch | None = None) -> Simulation:
        """run: the first by default. Raises KschedError."""
        simulation = self.opener.simulation(run or self.runs[0], watch)
        self.introduce(simulation)
        return simulation

    def replay(self, run: Run, *, trace: bool = False, progress: Progress | None = None) -> Replay:
        """A replay that has ended. Raises KschedError."""
        noted = -1

        def on_instant(replay: Replay) -> None:
            nonlocal noted
            done = int(replay.share_done * WHOLE)
            if progress is not None and done > noted:
                noted = done
                progress(done, WHOLE)

        watch = Watch(traces=trace, keeps_records=True, on_instant=on_instant)
        replay = self.opener.replay(run, watch)
        self.introduce(replay)
        replay.run()
        return replay

    def subject(self, pod: str | Manifest = "") -> Subject:
        """Open the only Run and what it is asked about: a pod or workload of the state, or that of
        a manifest, which is applied last. Raises KschedError."""
        (run,) = self.runs
        if isinstance(pod, str):
            subject = Subject.open(self.opener, run, pod)
        else:
            manifest = ChangeSource(apply=dict(pod))
            subject = Subject.open(self.opener, run, manifest=manifest)
        self.introduce(subject.simulation)
        return subject

    def conclude(self, *opened: Simulation | Replay) -> None:
        """After all of these ran."""
        for each in opened:
            self.warn(*lines_after(each))
            engine_of(each).close()

    def complete(self, answer: A, states: Iterable[ClusterState]) -> A:
        """The answer with the release, what changes did to the states, and the warnings."""
        assert self.release is not None, "some Run was opened"
        records = [record for state in states for record in state.changes]
        return completed(answer, self.release, records, self.warnings)

    def answer(self, answer: A, simulation: Simulation, *more: str) -> A:
        """The whole answer from a simulation that ran. more: warnings"""
        self.conclude(simulation)
        self.warn(*more)
        return self.complete(answer, [simulation.state])

    def states(self) -> Sequence[ClusterState]:
        """The states of all Runs."""
        return [self.opener.state(run) for run in self.runs]


# -- a Run pod by pod ------------------------------------------------------------------------------


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
        return tuple(record.applied for record in records)

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

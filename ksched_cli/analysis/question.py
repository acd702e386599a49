"""Asking: the one way from a question and its Runs to an answer.

A question is plain data beside its answer, and says how the answer is found in opened Runs. `ask`
does for every question what all have in common: it checks the Runs, opens them, says what their
states lack, and completes the answer. Who asks is told of it through an Observer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct, structs

from ksched_cli.analysis.named_objects import Subject, chosen_pods, pods_of
from ksched_cli.analysis.search import Search
from ksched_cli.answers import Answer, StateAnswer
from ksched_cli.cluster.change_record import ChangeRecord
from ksched_cli.cluster.loading.state_warnings import skipped_warnings, without_touching
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import shortened_lines
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.run.open import Opener, Watch, no_live_cluster
from ksched_cli.run.remarks import engine_of, lines_after, lines_before
from ksched_cli.run.run import ChangeSource, KubeconfigCluster, Run, check_standard_input_of

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Pod
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.config.effective import Configuration
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.run.inputs import Inputs

A = TypeVar("A", bound=Answer)
A_co = TypeVar("A_co", bound=Answer, covariant=True)

# Takes how much is done, and of how much.
OnProgress: TypeAlias = Callable[[int, int], None]
# What is asked about: a pod's name or KIND/NAME, in the Run's namespace if it names none; a pod's
# key after a slash, whatever that namespace is; or a manifest, a mapping, that is applied first; or
# the ChangeSource that applies one.
PodOrManifest: TypeAlias = Any


class Observer:
    """Is told what happens while a question is answered. This one listens to nothing.

    traces_calls: note which plugins are called about each pod
    """

    traces_calls: bool = False

    def warn(self, line: str) -> None:
        """Take a warning, each once; the answer has it, too."""

    def set_aside(self, lines: Collection[str]) -> None:
        """Take warnings that do not touch the question: people see how many there are."""

    def note(self, line: str) -> None:
        """Take a line that is no warning."""

    def opened(self, release: Release, calling: Sequence[Configuration]) -> None:
        """Before the first run. calling: the configurations whose extenders are called"""

    def ran(self, engine: Engine) -> None:
        """After it ran."""

    @contextmanager
    def progress(self, noun: str) -> Iterator[OnProgress | None]:
        """Yield what is called with how many of the noun are done, and how many there are."""
        yield None

    @contextmanager
    def searching(self, noun: str, search: Search) -> Iterator[None]:
        """While this search runs, whose steps are of the noun."""
        yield

    @contextmanager
    def replaying(self, replay: Replay) -> Iterator[None]:
        """While this replay runs."""
        yield

    def after_instant(self, replay: Replay) -> None:
        """After each instant of a replay."""

    def read_live(self, cluster: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
        """Read the cluster of a Run's `live`. Raises KschedError."""
        return no_live_cluster(cluster, kinds)


class Question(Struct, Generic[A_co], frozen=True, kw_only=True):
    """What is asked about one Run or several.

    USES:  fields of replays that the question takes at one instant, too
    READS: kinds of custom objects that it needs besides those of plugins
    """

    USES: ClassVar[tuple[str, ...]] = ()
    READS: ClassVar[frozenset[str]] = frozenset()

    def answer(self, opened: Opened) -> A_co:
        """Return the answer, which `ask` completes. Raises KschedError."""
        raise NotImplementedError


class PodChoice(Struct, frozen=True):
    """Which pods an answer shows, whatever decides; all where nothing is chosen.

    selector: of their labels; owner: KIND/NAME or NAME of their workload
    """

    namespace: str = ""
    selector: str = ""
    owner: str = ""


class Opened:
    """The Runs of a question while it is answered.

    warnings: in the order in which they came up, each once
    """

    def __init__(self, opener: Opener, runs: Sequence[Run], observer: Observer) -> None:
        self.opener, self.runs, self.observer = opener, runs, observer
        self.warnings: dict[str, None] = {}
        self.release: Release | None = None
        self._changes: dict[ChangeRecord, None] = {}
        self._assumes = False
        self._running: list[Simulation | Replay] = []

    @property
    def run(self) -> Run:
        """Return the first Run, which is the only one of most questions."""
        return self.runs[0]

    def warn(self, *lines: str) -> None:
        """Add warnings to the answer, and tell the observer those that are new."""
        for line in map(shortened_lines, lines):
            if line not in self.warnings:
                self.warnings[line] = None
                self.observer.warn(line)

    def set_aside(self, lines: Collection[str]) -> None:
        """Say that these warnings, which the answer has, do not touch the question."""
        self.observer.set_aside(
            [line for line in map(shortened_lines, lines) if line in self.warnings]
        )

    def focus_on(self, state: ClusterState, pods: Sequence[Pod]) -> None:
        """Say that the question is about these pods: the other warnings of the state, which was
        introduced, do not touch it."""
        self.set_aside(without_touching(state, pods))

    def introduce(self, *opened: Simulation | Replay, are_run: bool = True) -> None:
        """Say what the states of these lack before any of them runs; the answer follows the
        release of the first that is introduced. are_run: False where others like them run"""
        engines = [*map(engine_of, opened)]
        for engine in engines:
            self._changes |= dict.fromkeys(engine.state.changes)
        self.follow(engines[0].configuration.release)
        self.warn(*lines_before(*opened))
        for engine in engines:
            self.set_aside(skipped_warnings(engine.state.skipped))
        self.observer.opened(
            engines[0].configuration.release,
            [
                engine.configuration
                for engine in engines
                if engine.options.extenders.used and not engine.options.extenders.replay
            ],
        )
        self._running += opened if are_run else ()

    def follow(self, release: Release, state: ClusterState | None = None) -> None:
        """Take the release whose rules the answer follows, unless there is one, and the changes to
        a state that it is about."""
        self.release = self.release or release
        if state is not None:
            self._changes |= dict.fromkeys(state.changes)

    # -- Runs, opened -----------------------------------------------------------------------------

    def simulation(self, run: Run | None = None, watch: Watch | None = None) -> Simulation:
        """Open a Run at one instant, by default the first. Raises KschedError."""
        simulation = self.opener.simulation(run or self.run, watch)
        self.introduce(simulation)
        return simulation

    def subject(self, about: PodOrManifest = "", watch: Watch | None = None) -> Subject:
        """Open the first Run and what it is asked about; a manifest becomes the last change, and
        so does a ChangeSource. Raises KschedError."""
        manifest, key = None, ""
        if isinstance(about, str) and about.startswith("/"):
            about, key = "", about[1:]
        if not isinstance(about, str):
            manifest = about if isinstance(about, ChangeSource) else ChangeSource(apply=dict(about))
            about = ""
        subject = Subject.open(self.opener, self.run, about, manifest, watch)
        self.introduce(subject.simulation)
        return subject._replace(name=key, namespace="") if key else subject

    def replay(self, run: Run | None = None, watch: Watch | None = None) -> Replay:
        """Run a Run over its timeline to its end, by default the first. Raises KschedError."""
        from ksched_cli.analysis.metrics import MeasuringPlugins

        measuring = MeasuringPlugins()

        def on_instant(replay: Replay) -> None:
            measuring.measure(replay)
            self.observer.after_instant(replay)

        watch = structs.replace(watch or Watch(), on_instant=on_instant)
        replay = self.opener.replay(run or self.run, watch)
        self.introduce(replay)
        with self.observer.replaying(replay):
            replay.run()
        measuring.measure(replay)
        return replay

    def pod(self, subject: Subject) -> PodInfo:
        """Find the pod that is asked about, or the next or newest of a workload, and say which.
        Raises UsageError."""
        pod, name = subject.pod, subject.name
        self.focus_on(subject.simulation.state, [pod.pod])
        if pod.name != name.rpartition("/")[2]:
            which = "the newest" if pod.pod.node_name else "the next in the queue"
            self.observer.note(f"{name}: {pod.key}, {which} of its pods")
        return pod

    def pods(self, subject: Subject) -> frozenset[str]:
        """Find the pods that are asked about, of a workload or a group all. Raises UsageError."""
        keys = pods_of(subject.simulation, subject.name, subject.namespace)
        state = subject.simulation.state
        self.focus_on(state, [pod for pod in state.pods if pod.key in keys])
        return keys

    def chosen(self, simulation: Simulation, choice: PodChoice) -> frozenset[str] | None:
        """Find the pods to show; None: all. Say that all are decided. Raises UsageError."""
        pods = chosen_pods(simulation, choice.namespace, choice.selector, choice.owner)
        if pods is not None:
            self.observer.note(
                f"showing {len(pods):,} of {len(simulation.state.pods):,} pods; ksched schedules "
                "all of them"
            )
        return pods

    # -- the end ----------------------------------------------------------------------------------

    def conclude(self, *opened: Simulation | Replay) -> None:
        """After these ran, by default all that were opened: warn of what they lacked and of plugins
        that failed."""
        if not opened:
            opened, self._running = tuple(self._running), []
        for each in opened:
            self.warn(*lines_after(each))
            self._assumes |= engine_of(each).caller.assumes
            self.observer.ran(engine_of(each))
            engine_of(each).close()

    def complete(self, answer: A) -> A:
        """Return the answer with the release whose rules were applied, what changes did to the
        states that it is about, and the warnings."""
        release = self.release or release_of()
        if isinstance(answer, StateAnswer):
            applied = tuple(record.applied for record in self._changes)
            answer = structs.replace(answer, changes=applied)
        return structs.replace(
            answer,
            kubernetes_version=release.version,
            kubernetes_version_from=release.inferred or UNSET,
            warnings=tuple(self.warnings),
            assumes=self._assumes,
        )


def ask(
    question: Question[A],
    *runs: Run,
    observer: Observer | None = None,
    inputs: Inputs | None = None,
    opener: Opener | None = None,
    warnings: Iterable[str] = (),
) -> A:
    """Return the whole answer to a question about some Runs.

    inputs: contents that the Runs name and that are in no file
    opener: has opened Runs before; by default one that is for this question alone
    warnings: that the answer has in any case
    Raises KschedError
    """
    for run in runs:
        run.check(question.USES)
    check_standard_input_of(runs)
    observer = observer or Observer()
    opened = Opened(
        opener
        or Opener(
            runs,
            inputs,
            reads=question.READS,
            read_live=observer.read_live,
            trace_calls=observer.traces_calls,
        ),
        runs,
        observer,
    )
    opened.warnings |= dict.fromkeys(warnings)
    opened.opener.warn = opened.warn
    answer = question.answer(opened)
    opened.conclude()
    return opened.complete(answer)

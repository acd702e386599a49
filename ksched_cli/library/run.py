"""A Run as a Python program describes it, and the questions that one or several answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from msgspec import structs

from ksched_cli.analysis.search import MAX_COPIES
from ksched_cli.errors import UsageError
from ksched_cli.library.given import (
    Change,
    Config,
    Given,
    Manifest,
    Path,
    PluginSource,
    Progress,
    State,
    Timeline,
    change_of,
)
from ksched_cli.run import run as described
from ksched_cli.run.axes import fields_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.run import Settings

if TYPE_CHECKING:
    from ksched_cli.analysis.capacity import CapacityResult
    from ksched_cli.analysis.compare import Comparison, DrawnComparison, ReplayComparison
    from ksched_cli.analysis.diagnosis import PendingReport
    from ksched_cli.analysis.drain import DrainResult
    from ksched_cli.analysis.drift import DriftResult
    from ksched_cli.analysis.explain import Explanation, GroupExplanation
    from ksched_cli.analysis.fits import FitResult
    from ksched_cli.analysis.fix import Remedies
    from ksched_cli.analysis.metrics import MetricSource
    from ksched_cli.analysis.more_nodes import NodesNeeded
    from ksched_cli.analysis.preempt import PreemptionResult
    from ksched_cli.analysis.question import Question
    from ksched_cli.analysis.replay_result import ReplayResult
    from ksched_cli.analysis.run_figures import Outcome
    from ksched_cli.analysis.schedule import ScheduleResult
    from ksched_cli.analysis.shrink import ShrinkResult, UpgradePlan
    from ksched_cli.analysis.status import ClusterStatus, Fullness
    from ksched_cli.answers import Answer
    from ksched_cli.library.steps import OpenRun
    from ksched_cli.sweep.answers import SweepResult
    from ksched_cli.sweep.outcome import Task
    from ksched_cli.sweep.preparation import Shared
    from ksched_cli.sweep.run_process import Executor

    AnyComparison: TypeAlias = Comparison | ReplayComparison | DrawnComparison

A = TypeVar("A", bound="Answer")


class Run(Settings, frozen=True, kw_only=True):
    """Everything that decides a run's result: the command line's options by their names.

    state:    a path, or several; the content of a file as bytes; objects as mappings
    config:   a path; the content of a file as bytes; a mapping, where apiVersion and kind may be
              left out
    changes:  lines in kubectl's words, {"apply": object}, or a scenario file as a pathlib.Path
    patches:  a path in the configuration → the value there
    plugins:  classes, paths or MODULE:NAME; without a configuration they join the default profile
    timeline: a path, bytes, a mapping, or a list of events; with one the Run is a replay
    autoscaler: a path, bytes or a mapping
    prices:   paths or values as --price takes them
    seed: draw among equally good nodes; None takes the first by name, unless tie_break says
    otherwise

    Files named by a path are read for each question. Questions raise KschedError.
    """

    state: State = ()
    config: Config | None = None
    changes: Sequence[Change] = ()
    patches: Mapping[str, Any] = {}
    plugins: Sequence[PluginSource] = ()
    timeline: Timeline | None = None
    autoscaler: Path | bytes | Manifest | None = None
    prices: Sequence[str] = ()
    tie_break: Literal["name", "random"] | None = None  # type: ignore[assignment]  # as seed says

    def with_(self, **fields: Any) -> Run:
        """Return the same Run with other values of these fields."""
        return structs.replace(self, **fields)

    def described(self, given: Given, uses: Collection[str] = ()) -> described.Run:
        """Return the Run as the engine knows it. given: takes what is in no file; uses: the fields
        of replays that the question takes at one instant, too. Raises KschedError."""
        for name in ("changes", "plugins", "prices"):
            if isinstance(value := getattr(self, name), str) or not isinstance(value, Sequence):
                raise UsageError(f"{name} takes a list; not {value!r}")
        if not isinstance(self.patches, Mapping):
            raise UsageError(f"patches takes a mapping of paths to values; not {self.patches!r}")
        settings = {field.name: getattr(self, field.name) for field in fields_of(Settings)}
        timeline, autoscaler = self.timeline, self.autoscaler
        settings["tie_break"] = self.tie_break or ("name" if self.seed is None else "random")
        run = described.Run(
            **settings,
            states=given.states(self.state),
            changes=tuple(map(change_of, self.changes)),
            configuration="" if self.config is None else given.configuration(self.config),
            prices=tuple(self.prices),
            patches=tuple(described.Patch(path, value) for path, value in self.patches.items()),
            plugins=tuple(map(given.plugin, self.plugins)),
            timeline="" if timeline is None else given.file("Timeline", timeline),
            autoscaler="" if autoscaler is None else given.file("Autoscaler", autoscaler),
        )
        run.check(uses)
        return run

    # -- questions --------------------------------------------------------------------------------

    def schedule(
        self,
        *,
        trace: bool = False,
        by: str = "",
        metrics: Sequence[MetricSource] = (),
        progress: Progress | None = None,
    ) -> ScheduleResult:
        """Place the pending pods, as `ksched schedule` does.

        trace: keep every attempt. by: a label, for the utilization of its values. metrics:
        functions, or texts as --metric takes them. progress: called with the number of pods that
        have a node, and of all
        """
        from ksched_cli.analysis.schedule import Schedule

        question = Schedule(trace=trace, by=by, metrics=tuple(metrics), is_mapped=True)
        return answered(question, self, progress=progress)

    def explain(
        self,
        pod: str | Manifest,
        *,
        nodes: Sequence[str] = (),
        top: int = 0,
        alone: bool = False,
    ) -> Explanation:
        """Explain why a pod gets its node, or none.

        pod: NAME, NAMESPACE/NAME, KIND/NAME, or a manifest. nodes, top, alone: as the options of
        `ksched explain`. A Run at one instant with an autoscaler says which node group would get
        more nodes for a pod that has none
        """
        from ksched_cli.analysis.explain import Explain, Explanation

        answer = answered(Explain(pod=pod, nodes=tuple(nodes), top=top, alone=alone), self)
        if not isinstance(answer, Explanation):
            raise UsageError(f"{pod} is a group of pods: explain_group explains it")
        return answer

    def explain_group(self, group: str) -> GroupExplanation:
        """Explain why the pods of a group get nodes together, or which pod or topology domain
        blocks them. group: NAME, NAMESPACE/NAME, podgroup/NAME or compositepodgroup/NAME"""
        from ksched_cli.analysis.explain import ExplainGroup

        return answered(ExplainGroup(group=group), self)

    def explain_pending(self) -> PendingReport:
        """Explain why pods stay pending, as `ksched explain --pending` does."""
        from ksched_cli.analysis.diagnosis import ExplainPending

        return answered(ExplainPending(), self)

    def status(self, *, by: str = "") -> ClusterStatus:
        """Show the cluster at a glance. by: the label of pools; default the provider's"""
        from ksched_cli.analysis.status import ShowStatus

        return answered(ShowStatus(by=by), self)

    def fullness(self, *, by: str = "") -> Fullness:
        """Show how full the cluster is, as `ksched capacity` without a pod does. by: as `status`"""
        from ksched_cli.analysis.status import ShowFullness

        return answered(ShowFullness(by=by), self)

    def preempt(
        self, pod: str | Manifest, *, all_candidates: bool = False, alone: bool = False
    ) -> PreemptionResult:
        """Find the pods that this pod would evict, on which node, and why there.

        pod: as for `explain`
        """
        from ksched_cli.analysis.preempt import Preempt

        return answered(Preempt(pod=pod, all_candidates=all_candidates, alone=alone), self)

    def fix(  # noqa: PLR0913  # an argument per option
        self,
        pod: str | Manifest | None = None,
        *,
        prefer: Iterable[str] = (),
        never: Iterable[str] = (),
        top: int = 5,
        max_runs: int = 60,
        max_seconds: float = 60,
        max_moves: int | None = None,
        time_limit: float = 30,
        progress: Progress | None = None,
    ) -> Remedies:
        """Find what gives a pod, or all pods of a workload, a node, cheapest first.

        pod: as `explain` takes it; None for all pods that stay pending, as --pending. The other
        arguments are the options of `ksched fix`. progress: called after each run, with the
        number of runs so far and the maximum
        """
        from ksched_cli.analysis.fix import Fix

        question = Fix(
            pod=pod,
            prefer=tuple(prefer),
            never=tuple(never),
            top=top,
            max_runs=max_runs,
            max_seconds=max_seconds,
            max_moves=max_moves,
            time_limit=time_limit,
        )
        return answered(question, self, progress=progress)

    def capacity(
        self, pod: str, *, maximum: int = MAX_COPIES, alone: bool = False
    ) -> CapacityResult:
        """Count the further copies of a pod, or replicas of a workload, that fit. pod: of the
        state"""
        from ksched_cli.analysis.capacity import Capacity

        return answered(Capacity(pod=pod, maximum=maximum, alone=alone), self)

    def fits(
        self,
        manifests: Manifest | Sequence[Manifest],
        *,
        maximum: int = MAX_COPIES,
        alone: bool = False,
    ) -> FitResult:
        """Say whether the pods of manifests fit, and how many more, as `ksched capacity -f` does.
        manifests: an object or several"""
        from ksched_cli.analysis.fits import Fits

        return answered(Fits(manifests=manifests, maximum=maximum, alone=alone), self)

    def nodes_needed(self, *like: str) -> NodesNeeded:
        """Count the copies of these nodes that all pending pods need; with prices in the Run,
        find the cheapest mix."""
        from ksched_cli.analysis.more_nodes import MoreNodes

        return answered(MoreNodes(like=like), self)

    def shrink(  # noqa: PLR0913  # as many as the command has options
        self,
        *,
        selector: str = "",
        keep: str = "",
        maximum: int | None = None,
        keep_free: float = 0,
        replace_with: str = "",
        force: bool = False,
        delete_emptydir_data: bool = False,
        repack: bool = False,
        like: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> ShrinkResult:
        """Find the nodes that could go, and the pods that hold the others. Prices of the Run
        decide the order. Arguments as the options of `ksched shrink`. progress: called with the
        number of drained nodes, and of all"""
        from ksched_cli.analysis.shrink import Shrink

        question = Shrink(
            selector=selector,
            keep=keep,
            maximum=maximum,
            keep_free=keep_free,
            replace_with=replace_with,
            force=force,
            delete_emptydir_data=delete_emptydir_data,
            repack=repack,
            like=tuple(like),
        )
        return answered(question, self, progress=progress)

    def upgrade(
        self,
        selector: str,
        *,
        surge: int = 1,
        keep: str = "",
        force: bool = False,
        delete_emptydir_data: bool = False,
        progress: Progress | None = None,
    ) -> UpgradePlan:
        """Plan waves that drain and replace the nodes with these labels, as `ksched shrink
        --upgrade` does; arguments as its options. progress: as for `shrink`"""
        from ksched_cli.analysis.shrink import Upgrade

        question = Upgrade(
            selector=selector,
            keep=keep,
            surge=surge,
            force=force,
            delete_emptydir_data=delete_emptydir_data,
        )
        return answered(question, self, progress=progress)

    def drain(self, *nodes: str, selector: str = "", force: bool = False) -> DrainResult:
        """Say whether nodes can be drained, together, and what blocks that. selector: labels of the
        nodes, in place of names. force: evict pods without a controller, which are gone for good"""
        from ksched_cli.analysis.drain import DrainNodes

        return answered(DrainNodes(nodes=nodes, selector=selector, force=force), self)

    def drift(self, *, progress: Progress | None = None) -> DriftResult:
        """Show for every running pod where it is, and where it would go today. progress: called
        with the number of pods done, and of all"""
        from ksched_cli.analysis.drift import Drift

        return answered(Drift(), self, progress=progress)

    def replay(
        self,
        timeline: Timeline | None = None,
        *,
        trace: bool = False,
        metrics: Sequence[MetricSource] = (),
        progress: Progress | None = None,
    ) -> ReplayResult:
        """Replay the cluster over time. timeline: replaces the Run's own. trace: keep every
        attempt. metrics: functions, or texts as --metric takes them. progress: called with the
        thousandths that are done, and 1000"""
        from ksched_cli.analysis.replay_result import ReplayTimeline

        run = self if timeline is None else self.with_(timeline=timeline)
        question = ReplayTimeline(trace=trace, metrics=tuple(metrics))
        return answered(question, run, progress=progress)

    def open(self) -> OpenRun:
        """Step through the Run: iterate over it for its attempts, and change the cluster between
        them."""
        from ksched_cli.library.steps import OpenRun

        inputs, (run,) = inputs_of([self])
        return OpenRun(inputs, run)


def answered(question: Question[A], *runs: Run, progress: Progress | None = None) -> A:
    """Ask a question about Runs. It shares nothing with other questions, so that threads may ask at
    once. Raises KschedError."""
    from ksched_cli.analysis.question import ask
    from ksched_cli.library.steps import ProgressCalls

    inputs, described = inputs_of(runs, question.USES)
    return ask(question, *described, observer=ProgressCalls(progress), inputs=inputs)


def inputs_of(
    runs: Sequence[Run], uses: Collection[str] = ()
) -> tuple[Inputs, list[described.Run]]:
    """Return the Runs as the engine knows them, and what they were given that is in no file."""
    inputs = Inputs(keeps_states=len({id(run.state) for run in runs}) > 1)
    given = Given(inputs)
    return inputs, [run.described(given, uses) for run in runs]


# -- questions about several Runs ------------------------------------------------------------------


def replay(run: Run, timeline: Timeline, *, progress: Progress | None = None) -> ReplayResult:
    """Replay a Run over a timeline; see `Run.replay`."""
    return run.replay(timeline, progress=progress)


def compare(
    *runs: Run,
    seeds: int = 0,
    metrics: Sequence[MetricSource] = (),
    progress: Progress | None = None,
) -> AnyComparison:
    """Compare two or more Runs with the first, as `ksched compare` does. Runs with timelines are
    replayed.

    seeds:    the number of draws of each Run, whose means are compared
    metrics:  functions, or texts as --metric takes them
    progress: called after each attempt of a side, after each draw, or with the thousandths of each
              replay that are done
    Raises KschedError
    """
    if len(runs) < 2:
        raise UsageError("compare takes two Runs or more")
    if len({run.timeline is not None for run in runs}) > 1:
        raise UsageError("only some Runs have a timeline: give all of them one, or none")
    if seeds:
        from ksched_cli.sweep.draws import CompareDraws

        runs = tuple(run.with_(tie_break="random", seed=run.seed or 0) for run in runs)
        draws = CompareDraws(seeds=seeds, metrics=tuple(metrics))
        return answered(draws, *runs, progress=progress)
    from ksched_cli.analysis.compare import Compare

    return answered(Compare(metrics=tuple(metrics)), *runs, progress=progress)


def sweep(
    runs: Iterable[Run],
    *,
    workers: int = 0,
    metrics: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    progress: Progress | None = None,
) -> SweepResult:
    """Make many Runs and summarize how they differ from the first. Runs of one state, timeline
    and seed are compared in pairs. `to_frame()` has a row per Run.

    workers:  number of local worker processes; 0: this process
    metrics:  to compare: name → "minimize" or "maximize"; the usual ones by default
    timeout:  seconds that a Run may take in a worker
    progress: called after each Run
    Raises KschedError; a Run that fails is a row that says why
    """
    from ksched_cli.analysis.question import ask
    from ksched_cli.library.steps import ProgressCalls
    from ksched_cli.sweep.execution import open_executor
    from ksched_cli.sweep.plan import ListedRuns
    from ksched_cli.sweep.preparation import prepare_runs
    from ksched_cli.sweep.questions import Sweep
    from ksched_cli.sweep.run_process import ExecutorOptions

    inputs, listed = inputs_of(tuple(runs))
    if not listed:
        raise UsageError("sweep takes one Run or more")
    plan = ListedRuns(described.Run(), (), listed=tuple(listed))
    prepared = prepare_runs(plan, inputs)
    options = ExecutorOptions(workers, timeout=timeout)

    def executor() -> AbstractContextManager[tuple[Executor, int]]:
        if workers:
            return open_executor(prepared.shared, options)
        return nullcontext((_in_process(prepared.shared), 1))

    question = Sweep(
        plan=plan, prepared=prepared, executor=executor, metrics=metrics or {}, with_rows=True
    )
    return ask(question, observer=ProgressCalls(progress), inputs=inputs)


def _in_process(shared: Shared) -> Executor:
    from ksched_cli.sweep.outcome import SERIAL, Performer

    performer = Performer(shared)

    def execute(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            yield task, structs.replace(performer.perform(task), worker=SERIAL)

    return execute

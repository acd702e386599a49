"""The result of a run of `schedule`, and the map of the cluster before and after it, node by node
and pod by pod.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.attempts import AttemptTrace, trace_of
from ksched_cli.analysis.best_placement import Regret, check_solver, regret_of
from ksched_cli.analysis.cluster_cost import ClusterCost, cluster_cost
from ksched_cli.analysis.diagnosis import PendingGroup, owner_path, pending_groups
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.metrics import MetricSource, load_metrics, own_figures
from ksched_cli.analysis.named_objects import find_pods
from ksched_cli.analysis.question import Opened, PodChoice, Question
from ksched_cli.analysis.recreation import RecreatedPod, recreated_pods
from ksched_cli.analysis.usage import (
    NodeResources,
    NodeUsage,
    UtilizationByLabel,
    node_usages,
    resources_of,
    utilization_by,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.snapshot import REGION_LABELS, ZONE_LABELS
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.records import Eviction, ExtenderBinding, IgnoredPod, RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.run.open import Watch
from ksched_cli.scenario.prices import NO_PRICES, Prices

# The labels by which nodes are grouped first, where they have them.
FIRST_LABELS = (*ZONE_LABELS[::-1], *REGION_LABELS[::-1], "node.kubernetes.io/instance-type")
# A label with more values groups nothing.
MAX_GROUPS = 60
MAX_LABELS = 40


@dataclass(frozen=True, slots=True)
class MappedPod:
    """A pod that is on a node, or waits for one, or was evicted.

    owner:    namespace/Kind/name of its controller, or of itself
    state:    running, placed, evicted, pending, undecided, gated or left out
    node:     that it is on, or was evicted from, or ""
    score:    of the node taken, where nodes were scored
    why:      why it is on none
    requests: by resource, in the scheduler's units
    """

    pod: str
    owner: str
    state: str
    node: str
    score: int | None
    why: str
    priority: int
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterMap:
    """Nodes in order of their names, pods too.

    before, after: how full each node is
    labels: key → value per node, "" where it has none; of the labels that group nodes
    taints: per node, as kubectl shows them; a cordoned node's say so
    """

    before: Sequence[NodeUsage]
    after: Sequence[NodeUsage]
    labels: Mapping[str, Sequence[str]]
    taints: Sequence[str]
    pods: Sequence[MappedPod]


def cluster_map(simulation: Simulation, run: RunRecord, before: Sequence[NodeUsage]) -> ClusterMap:
    """before: the nodes' usage as it was when the simulation had not run yet"""
    nodes = simulation.snapshot.nodes
    taints = []
    for node in nodes:
        own = ["cordoned"] if node.spec.unschedulable else []
        own += [
            f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
            for taint in node.spec.taints
        ]
        taints.append(", ".join(own))
    # The fate of each pod, by name.
    evicted_from = {eviction.pod: eviction for eviction in run.evicted}
    failed, pending = frozenset(run.failed), frozenset(run.pending)
    ignored = {pod.pod: pod.reason for pod in run.ignored}
    pods = []
    for pod in simulation.state.pods:
        key, info = pod.key, simulation.catalog.info(pod)
        state, on, score, why = "running", pod.node_name or "", None, ""
        if key in run.placements:
            state, on, score = "placed", run.placements[key], run.last[key].score
        elif key in pending:
            state, on, why = "undecided" if key in failed else "pending", "", run.last[key].why_not
        elif key in evicted_from:
            eviction = evicted_from[key]
            state, on, why = "evicted", eviction.node, f"for {eviction.preemptor}"
        elif key in run.gated:
            state, why = "gated", run.gated[key].message
        elif key in ignored:
            state, on, why = "left out", "", f"it is {ignored[key]}"
        requests = info.resources.requests
        pods.append(MappedPod(key, owner_path(pod), state, on, score, why, info.priority, requests))
    pods.sort(key=lambda pod: pod.pod)
    return ClusterMap(
        before,
        node_usages(simulation.snapshot),
        grouping_labels([node.metadata.labels for node in nodes]),
        taints,
        pods,
    )


def grouping_labels(nodes: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the labels that group nodes, those of zones and machines first, then those of few
    values.
    nodes: the labels of each"""
    values: dict[str, set[str]] = {}
    for labels in nodes:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    counts = {
        key: len(group)
        for key, group in values.items()
        if key in FIRST_LABELS or 1 < len(group) < len(nodes)
    }
    keys = [key for key in FIRST_LABELS if key in counts]
    keys += sorted(counts.keys() - keys, key=lambda key: (counts[key], key))
    keys = [key for key in keys if counts[key] <= MAX_GROUPS][:MAX_LABELS]
    return {key: [labels.get(key, "") for labels in nodes] for key in keys}


# -- the result -----------------------------------------------------------------------------------


class PluginFailure(Part, frozen=True):
    """An exception that a plugin let out, or an answer that is none, and the pods it touched."""

    plugin: str
    point: str
    problem: str
    pods: tuple[str, ...]


class RunSummary(Part, frozen=True):
    """Counts of pods, and of attempts."""

    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    attempts: Count
    ignored: Count
    undecided: Count


class PlacedPod(Part, frozen=True):
    """A pod that was placed, with what the placement was chosen by.

    owner: namespace/Kind/name of its controller, or of itself
    score: of the node taken; null where it was the only one that fits
    evaluated: how many nodes were looked at
    claims: its device claims and their devices
    """

    pod: str
    node: str
    owner: str = ""
    score: int | None = None
    evaluated: Count = 0
    claims: Mapping[str, tuple[str, ...]] = {}


class ScheduleResult(StateAnswer, frozen=True, kw_only=True):
    """A run of `schedule`.

    placements: pod → node
    gated: in the order of creation
    undecided: the pending pods whose last attempt ended in a plugin's failure
    defects: failures of plugins, each once, and the pods that it touched
    ignored: pods that the scheduler never looks at: finished, being deleted, another scheduler's
    evicted: pods that preemption took off their nodes, in order
    recreated: what becomes of the evicted pods; missing where none is evicted
    messages: per pending or gated pod, why
    nodes: every node after the run
    utilization: with --by only, of the nodes after the run
    cost: of all nodes after the run; missing without prices
    regret: with --regret only
    metrics: those of plugins and of --metric, by name; missing where there are none
    notes: pod → name → what plugins noted of the placement; missing where none did
    extender_bindings: calls to extenders that bind pods; made only with --extender-bind
    attempts: with --trace only
    cluster_map: the nodes before and after the run, and the pods on them
    pending_groups: the pending pods by owner and cause
    placed: the pods of placements
    queue: the pending pods in the order of the queue
    owners: gated pod → who manages it
    usages: how full the nodes are after the run
    lists_nodes: whether every node's usage is shown
    """

    COMMAND: ClassVar = "schedule"
    VIEW: ClassVar = "schedule:view"
    ROWS: ClassVar = "placements"

    kind: Literal["ScheduleResult"] = "ScheduleResult"
    placements: Mapping[str, str]
    pending: tuple[str, ...]
    gated: tuple[str, ...]
    undecided: tuple[str, ...]
    defects: tuple[PluginFailure, ...]
    ignored: tuple[IgnoredPod, ...]
    evicted: tuple[str, ...]
    evictions: tuple[Eviction, ...]
    recreated: tuple[RecreatedPod, ...] | UnsetType = UNSET
    messages: Mapping[str, str]
    summary: RunSummary
    nodes: tuple[NodeResources, ...]
    utilization: UtilizationByLabel | UnsetType = UNSET
    cost: ClusterCost | UnsetType = UNSET
    regret: Regret | UnsetType = UNSET
    metrics: Mapping[str, float] | UnsetType = UNSET
    notes: Mapping[str, Mapping[str, Any]] | UnsetType = UNSET
    extender_bindings: tuple[ExtenderBinding, ...] | UnsetType = UNSET
    attempts: tuple[AttemptTrace, ...] | UnsetType = UNSET
    cluster_map: Annotated[ClusterMap | None, HIDDEN] = None
    pending_groups: Annotated[tuple[PendingGroup, ...], HIDDEN] = ()
    placed: Annotated[tuple[PlacedPod, ...], HIDDEN] = ()
    queue: Annotated[tuple[str, ...], HIDDEN] = ()
    owners: Annotated[Mapping[str, str], HIDDEN] = {}
    usages: Annotated[tuple[NodeUsage, ...], HIDDEN] = ()
    lists_nodes: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.pending, bool(self.undecided))


def result_of(  # noqa: PLR0913  # what an answer has besides the run
    simulation: Simulation,
    run: RunRecord,
    *,
    trace: bool = False,
    traced: Collection[str] = (),
    by: str = "",
    before: Sequence[NodeUsage] | None = None,
    lists_nodes: bool = False,
    hints: Hints | None = None,
    prices: Prices = NO_PRICES,
) -> ScheduleResult:
    """simulation: after the run. traced: the pods whose attempts are in it; where empty, all are.
    by: the label that nodes are shown by. before: how full they were before the run, for a page.
    lists_nodes: with every node's usage. hints: verifies what helps pending pods, for people who
    read the answer; None: programs do, unless it is for a page. prices: of nodes"""
    shown = hints is not None or before is not None
    owners = {pod.key: owner_path(pod) for pod in simulation.state.pods} if shown else {}
    usages = node_usages(simulation.snapshot, prices)
    notes = {pod: run.last[pod].notes for pod in sorted(run.placements)}
    attempts = [record for record in run.attempts if not traced or record.pod in traced]
    placed = []
    for pod, node in sorted(run.placements.items()) if shown else ():
        last, owner = run.last[pod], owners.get(pod, "")
        placed.append(PlacedPod(pod, node, owner, last.score, last.evaluated, last.claims))
    return ScheduleResult(
        placements=dict(sorted(run.placements.items())),
        pending=tuple(sorted(run.pending)),
        gated=tuple(run.gated),
        undecided=run.failed,
        defects=tuple(
            PluginFailure(defect.plugin, defect.point, defect.problem, tuple(defect.pods))
            for defect in simulation.caller.defects.values()
        ),
        ignored=run.ignored,
        evicted=tuple(eviction.pod for eviction in run.evicted),
        evictions=run.evicted,
        messages={
            **{pod: run.last[pod].why_not for pod in sorted(run.pending)},
            **{pod: status.message for pod, status in run.gated.items()},
        },
        summary=summary_of(run),
        nodes=resources_of(usages),
        utilization=utilization_by(by, usages) if by else UNSET,
        cost=cluster_cost(simulation.snapshot, usages),
        notes={pod: noted for pod, noted in notes.items() if noted} or UNSET,
        extender_bindings=run.extender_bindings or UNSET,
        attempts=tuple(map(trace_of, attempts)) if trace else UNSET,
        cluster_map=cluster_map(simulation, run, before) if before is not None else None,
        pending_groups=pending_groups(simulation, run, hints) if shown else (),
        queue=run.pending,
        placed=tuple(placed),
        owners={pod: owners[pod] for pod in run.gated if pod in owners},
        usages=usages if shown else (),
        lists_nodes=lists_nodes,
    )


def summary_of(run: RunRecord) -> RunSummary:
    return RunSummary(
        placed=len(run.placements),
        pending=len(run.pending),
        gated=len(run.gated),
        evicted=len(run.evicted),
        attempts=len(run.attempts),
        ignored=len(run.ignored),
        undecided=len(run.failed),
    )


# -- the question ---------------------------------------------------------------------------------


class Schedule(Question[ScheduleResult], frozen=True, kw_only=True):
    """Place the pending pods.

    trace:  keep every attempt; of these pods alone where some are traced
    by:     a label, for the utilization of its values
    shows:  the pods that the answer is about
    is_shown, is_mapped: people read the answer; on a page, with a map of the nodes
    lists_nodes: with every node's usage
    metrics: functions, or texts as --metric takes them
    """

    USES: ClassVar = ("prices",)

    trace: bool = False
    traced: tuple[str, ...] = ()
    by: str = ""
    shows: PodChoice = PodChoice()
    is_shown: bool = False
    is_mapped: bool = False
    lists_nodes: bool = False
    metrics: tuple[MetricSource, ...] = ()

    def answer(self, opened: Opened) -> ScheduleResult:
        metrics = load_metrics(self.metrics)
        quantity = opened.run.regret
        if quantity:
            check_solver()
        with opened.observer.progress("pods placed") as on_progress:
            watch = Watch(detailed=self.trace and not self.traced, on_progress=on_progress)
            simulation = opened.simulation(watch=watch)
            chosen = opened.chosen(simulation, self.shows)
            traced = find_pods(simulation, self.traced, self.shows.namespace)
            if traced:
                simulation.focus = Focus(traced)
            before = node_usages(simulation.snapshot) if self.is_mapped else None
            record = simulation.run()
        is_shown = self.is_shown or self.is_mapped
        result = result_of(
            simulation,
            record.about(chosen),
            trace=self.trace,
            traced=traced,
            by=self.by,
            before=before,
            lists_nodes=self.lists_nodes,
            hints=Hints(simulation, record, None, opened.run.workloads) if is_shown else None,
            prices=opened.opener.prices(opened.run),
        )
        evicted = frozenset(result.evicted)
        recreated = tuple(pod for pod in recreated_pods(simulation) if pod.pod in evicted)
        regret: Regret | UnsetType = UNSET
        if quantity:
            seconds = opened.run.time_limit
            regret = regret_of(simulation, record, quantity, seconds, metrics)
        figures = own_figures(simulation, metrics, lambda: record)
        return structs.replace(
            result, recreated=recreated or UNSET, regret=regret, metrics=figures or UNSET
        )

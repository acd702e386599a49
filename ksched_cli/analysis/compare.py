"""Runs side by side: which pods end up elsewhere and why, and how full the nodes are.

At one instant, every side is run once, as `schedule` runs it. Then the first side, and each that
differs from it, is run again up to the pods whose causes are looked for, to see their nodes as
their attempts saw them. Over a timeline, sides differ in how long pods wait, and where they go.
Several draws per side show whether sides differ by more than the noise of the draws.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from msgspec import UNSET, Meta, UnsetType, structs

from ksched_cli.analysis.best_placement import (
    Regret,
    RegretMoment,
    RegretOverTime,
    check_solver,
    regret_of,
)
from ksched_cli.analysis.causes import Cause, PodViews, cause_of_move, obstacle_on, views
from ksched_cli.analysis.cluster_cost import ClusterCost, cluster_cost
from ksched_cli.analysis.diagnosis import owner_path
from ksched_cli.analysis.metrics import Metric, MetricSource, load_metrics, own_figures
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.replay_figures import (
    JobFigures,
    ReplayCost,
    UsageOverTime,
    UserFigures,
    WaitingTimes,
    replay_figures,
    replay_waits,
    user_figures,
    wait_of,
)
from ksched_cli.analysis.replay_result import (
    Hours,
    NodeRange,
    ReplayCurves,
    ReplayResult,
    ReplaySummary,
    ScalingResult,
    Seconds,
    optional_seconds,
    replay_result,
    replay_warnings,
    scaling_of,
    seconds,
)
from ksched_cli.analysis.usage import (
    NodeUsage,
    Utilization,
    node_usages,
    nodes_used,
    utilization,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.engine.records import Eviction, RunRecord
from ksched_cli.engine.replay.records import PodOutcome, PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.versions import Release, rule_differences, with_rules
from ksched_cli.run.differences import NamedRun, named, shown_run
from ksched_cli.run.open import Opener, Watch, name_of
from ksched_cli.run.run import Run
from ksched_cli.scenario.prices import NO_PRICES, Prices

# Causes are looked for where a pod is among the first so many that differ, and its last attempt
# among the first so many attempts of a run, or in its first half.
MAX_CAUSES = 100
MAX_ATTEMPTS = 5_000
SHARE_DIGITS = 4  # of shares

NOT_LOOKED_FOR = Cause("", "not looked for: too many pods differ")


class Standing(Enum):
    """What a run leaves a pod as. Absent: the state of that side does not have it."""

    PLACED = "placed"
    RUNNING = "running"
    PENDING = "pending"
    GATED = "gated"
    EVICTED = "evicted"
    IGNORED = "ignored"
    ABSENT = "absent"

    @property
    def text(self) -> str:
        """Return what a table says."""
        return "not there" if self is Standing.ABSENT else self.value


@dataclass(frozen=True, slots=True)
class Side:
    """A run to compare.

    simulation: has not run yet
    reopen:     makes another like it
    prices:     of its nodes
    metrics:    of its run, besides those of plugins
    by:         makes one that another release decides; None where nobody asks
    """

    named: NamedRun
    simulation: Simulation
    reopen: Callable[[], Simulation]
    prices: Prices = NO_PRICES
    metrics: Sequence[Metric] = ()
    by: Callable[[Release], Simulation] | None = None

    @property
    def release(self) -> Release:
        return self.simulation.configuration.release


class Place(NamedTuple):
    """The place of a pod after a side's run. node: None where it is on none."""

    node: str | None
    standing: Standing


class SideSummary(Part, frozen=True):
    """What a side's run came to.

    nodes_used: how many nodes have a pod
    utilization: by resource, the shares that pods request of the nodes that have any: 0.5 is half
                 of a node's allocatable
    cost: of all nodes; missing without prices
    regret: with --regret only
    metrics: those of plugins and of --metric, by name; missing where there are none
    """

    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    nodes_used: Count
    utilization: Mapping[str, Utilization]
    cost: ClusterCost | UnsetType = UNSET
    regret: Regret | UnsetType = UNSET
    metrics: Mapping[str, float] | UnsetType = UNSET


class RuleEffect(Part, frozen=True):
    """A rule that another Kubernetes release has, and what it alone does to the first side's run.

    rule: its name, or that of a feature gate
    text: what the side's release does otherwise than the first side's
    pods: those that the rule alone leaves where this side leaves them
    """

    rule: str
    text: str
    pods: tuple[str, ...]


class SideResult(Part, frozen=True):
    """A run that is compared.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    kubernetes_version: whose rules decided
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    differing: how many pods end up otherwise than on the first side
    rules: where only the Kubernetes release differs, and pods do: the rules of this side's release
           because of which they do; each was tried alone. Null if the runs are too long for that
    usages: of its nodes, for a page
    """

    name: str
    run: Run
    kubernetes_version: str
    differs_in: tuple[str, ...]
    differing: Count
    summary: SideSummary
    rules: tuple[RuleEffect, ...] | UnsetType | None = UNSET
    usages: Annotated[tuple[NodeUsage, ...], HIDDEN] = ()


class PodDifference(Part, frozen=True):
    """A pod that not all sides leave in one place.

    owner: namespace/Kind/name of the controller, else of the pod
    nodes: per side; null where the pod is on none
    states: per side, what the run leaves the pod as; ignored: finished, being deleted or another
            scheduler's; absent: not in that side's state
    because: why the first side that differs from the first does: the plugin and its reason, or what
             else made the difference
    plugin: whose verdict or score that is; null if no single plugin decides, or if the search
    was skipped
    """

    pod: str
    owner: str
    nodes: tuple[str | None, ...]
    states: tuple[Standing, ...]
    because: str
    plugin: str | None
    cause: Annotated[Cause, HIDDEN]

    @classmethod
    def of(
        cls, pod: str, owner: str, places: Sequence[Place], cause: Cause = NOT_LOOKED_FOR
    ) -> Self:
        nodes, states = zip(*places, strict=True)
        return cls(pod, owner, nodes, states, cause.text, cause.plugin or None, cause)

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(map(Place, self.nodes, self.states))

    def place_text(self, side: int) -> str:
        """Return the node of a side, or what the pod is instead."""
        return self.nodes[side] or self.states[side].text


class Comparison(StateAnswer, frozen=True, kw_only=True):
    """Runs at one instant, side by side.

    sides: the runs compared, the first of which the others are compared with
    pods: those that not all sides leave in one place, by name
    pod_count: how many there are on any side
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "compare"
    VIEW: ClassVar = "compare:view"
    ROWS: ClassVar = "pods"

    kind: Literal["Comparison"] = "Comparison"
    sides: tuple[SideResult, ...]
    pods: tuple[PodDifference, ...]
    pod_count: Annotated[int, HIDDEN]
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.pods, self.undecided)


@dataclass(slots=True)
class _Outcome:
    """A side after its run.

    nodes:     pod key → the node that it is on
    pods:      by key
    evictions: by the key of the pod that is evicted
    views:     of the pods whose causes are looked for
    """

    side: Side
    run: RunRecord
    nodes: dict[str, str]
    pods: dict[str, Pod]
    evictions: dict[str, Eviction]
    views: Mapping[str, PodViews] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.side.named.name

    def place(self, key: str) -> Place:
        node = self.nodes.get(key)
        if node:
            standing = Standing.PLACED if key in self.run.placements else Standing.RUNNING
        elif key not in self.pods:
            standing = Standing.ABSENT
        elif key in self.run.gated:
            standing = Standing.GATED
        elif key in self.evictions:
            standing = Standing.EVICTED
        elif key in self.run.last:
            standing = Standing.PENDING
        else:
            standing = Standing.IGNORED
        return Place(node, standing)

    def message(self, key: str) -> str:
        """Return why the pod is on no node."""
        eviction = self.evictions.get(key)
        if eviction is not None:
            return f"evicted from {eviction.node} for {eviction.preemptor}"
        return self.run.last[key].why_not if key in self.run.last else ""


def sides_of(
    opener: Opener, runs: Sequence[Run], watch: Watch, metrics: Sequence[Metric] = ()
) -> list[Side]:
    """Open a side per Run. The others are compared with the first. Raises KschedError."""
    return [
        Side(
            each,
            opener.simulation(each.run, watch),
            partial(opener.simulation, each.run, watch),
            opener.prices(each.run),
            metrics,
            partial(_simulation_by, opener, each.run, watch),
        )
        for each in named(runs, opener.inputs)
    ]


def _simulation_by(opener: Opener, run: Run, watch: Watch, release: Release) -> Simulation:
    return opener.by(release).simulation(run, watch)


def compare(  # noqa: C901  # one comparison, from top to bottom
    sides: Sequence[Side],
) -> Comparison:
    """Run all sides, and compare the others with the first."""
    outcomes = [_outcome(side) for side in sides]
    # 1. Pods differ that are not on the same node everywhere, or on none for other reasons.
    first, *others = outcomes
    differing: dict[str, None] = {}
    for other in others:
        for key in {**first.pods, **other.pods}:
            node = first.nodes.get(key)
            if node != other.nodes.get(key) or (
                node is None and first.place(key) != other.place(key)
            ):
                differing[key] = None
    places = {key: tuple(outcome.place(key) for outcome in outcomes) for key in differing}
    owners = {
        key: next(owner_path(each.pods[key]) for each in outcomes if key in each.pods)
        for key in differing
    }
    # 2. The result of each side.
    results = []
    for index, outcome in enumerate(outcomes):
        own = [key for key, each in places.items() if differs(each[0], each[index])]
        result = _result(outcome, len(own))
        # Where nothing but the release differs, at one instant, it is due to some of its rules.
        side, base = outcome.side, first.side.named.run
        is_same_run = base == structs.replace(
            side.named.run, kubernetes_version=base.kubernetes_version
        )
        has_rules = first.side.by is not None and first.side.release != side.release
        if own and has_rules and is_same_run and not base.timeline:
            effects = _rule_effects(first, outcome, sorted(own))
            result = structs.replace(result, rules=effects)
        results.append(result)
    # 3. The pods whose causes are looked for: the first of every owner and kind of difference, then
    #    the second of each, and so on; not those whose turn comes late in a long run.
    turns: list[dict[str, int]] = []
    for outcome in outcomes:
        attempts = outcome.run.attempts
        turns.append({attempt.pod: at for at, attempt in enumerate(attempts)})
    limits = [max(MAX_ATTEMPTS, len(outcome.run.attempts) // 2) for outcome in outcomes]
    turn_of = {
        key: [turn.get(key, -1) for turn in turns]
        for key in places
        if all(turn.get(key, -1) < limit for turn, limit in zip(turns, limits, strict=True))
    }
    seen: Counter[object] = Counter()
    candidates = []
    for key, turn in sorted(turn_of.items(), key=lambda item: item[1]):
        group = (owners[key], tuple(place.standing for place in places[key]))
        candidates.append((seen[group], turn, key))
        seen[group] += 1
    examined = {key for _, _, key in sorted(candidates)[:MAX_CAUSES]}
    # 4. Their causes, as the runs judge the nodes of each.
    for outcome in outcomes:
        nodes = {key: {place.node for place in places[key] if place.node} for key in examined}
        attempted = {key: names for key, names in nodes.items() if key in outcome.run.last}
        if attempted:
            simulation = outcome.side.reopen()
            outcome.views = views(simulation, outcome.run, attempted)
            simulation.close()
    pods = []
    for key in sorted(differing):
        cause = _cause(outcomes, key, places[key]) if key in examined else NOT_LOOKED_FOR
        pods.append(PodDifference.of(key, owners[key], places[key], cause))
    count = len(set().union(*(outcome.pods for outcome in outcomes)))
    return Comparison(
        sides=tuple(results),
        pods=tuple(pods),
        pod_count=count,
        undecided=any(outcome.run.failed for outcome in outcomes),
    )


def _rule_effects(
    first: _Outcome, other: _Outcome, keys: Sequence[str]
) -> tuple[RuleEffect, ...] | None:
    """Return the rules of the other side's release because of which pods end up otherwise. The
    first side runs again with one of them.

    Many rules make no difference to a cluster: a run with half of them clears all of these at once
    where it ends as the first side did. keys: of the pods that differ
    """
    old, new, by = first.side.release, other.side.release, first.side.by
    if by is None or len(first.run.attempts) > MAX_ATTEMPTS:
        return None
    differences = rule_differences(old, new)
    effects = []
    stack = [[*differences]]
    while stack:
        names = stack.pop()
        if not names:
            continue
        outcome = _outcome(
            dataclasses.replace(first.side, simulation=by(with_rules(old, new, names)))
        )
        places = {key: outcome.place(key) for key in keys}
        moved = [key for key in keys if differs(first.place(key), places[key])]
        if len(names) > 1 and moved:
            middle = len(names) // 2
            stack += [names[middle:], names[:middle]]
        elif alike := tuple(key for key in moved if places[key] == other.place(key)):
            effects.append(RuleEffect(names[0], differences[names[0]], alike))
    return tuple(effects)


def _outcome(side: Side) -> _Outcome:
    simulation = side.simulation
    run = simulation.run()
    simulation.close()
    pods = {pod.key: pod for pod in simulation.state.pods}
    evictions = {eviction.pod: eviction for eviction in run.evicted}
    return _Outcome(side, run, run.nodes(pods.values()), pods, evictions)


def differs(first: Place, other: Place) -> bool:
    """Return whether a pod is on another node, or on none for another reason."""
    return first.node != other.node or (not first.node and first != other)


def _result(outcome: _Outcome, differing: int) -> SideResult:
    run, simulation, axes = outcome.run, outcome.side.simulation, outcome.side.named.run
    snapshot = simulation.snapshot
    usages = node_usages(snapshot, outcome.side.prices)
    return SideResult(
        outcome.side.named.name,
        shown_run(outcome.side.named.run),
        outcome.side.simulation.configuration.release.version,
        outcome.side.named.differs_in,
        differing,
        SideSummary(
            len(run.placements),
            len(run.pending),
            len(run.gated),
            len(run.evicted),
            nodes_used(snapshot),
            {name: share.rounded(SHARE_DIGITS) for name, share in utilization(snapshot).items()},
            cluster_cost(snapshot, usages),
            regret_of(simulation, run, axes.regret, axes.time_limit, outcome.side.metrics)
            if axes.regret
            else UNSET,
            own_figures(simulation, outcome.side.metrics, lambda: run) or UNSET,
        ),
        usages=usages,
    )


def _cause(outcomes: Sequence[_Outcome], key: str, places: Sequence[Place]) -> Cause:
    index = next(index for index, place in enumerate(places) if differs(places[0], place))
    pair = ((outcomes[0], places[0]), (outcomes[index], places[index]))
    for outcome, place in pair:
        if place.standing in (Standing.ABSENT, Standing.EVICTED):
            reason = outcome.message(key) or "there is no such pod"
            return Cause("", reason, outcome.name)
    if all(place.node for _, place in pair):
        (first, second) = (
            (outcome.name, place.node or "", outcome.views.get(key)) for outcome, place in pair
        )
        return cause_of_move(first, second) or Cause("", "runs elsewhere")
    (without, _), (_, place) = sorted(pair, key=lambda item: bool(item[1].node))
    gate = without.run.gated.get(key)
    if gate is not None:
        return Cause(gate.plugin, gate.message, without.name)
    seen = without.views.get(key)
    obstacle = obstacle_on(without.name, place.node, seen) if place.node else None
    return obstacle or Cause("", without.message(key) or "is left out", without.name)


# -- over a timeline ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplaySide:
    """A replay that has ended. records: of all of its pods, by key"""

    named: NamedRun
    replay: Replay
    records: dict[str, PodRecord]

    @classmethod
    def of(cls, named: NamedRun, replay: Replay) -> ReplaySide:
        return cls(named, replay, {record.pod: record for record in replay.log.records})


class ReplayDifference(Part, frozen=True):
    """A pod that was placed elsewhere, at another time, or not on every side: a value per side,
    null if there is none; times in seconds.

    waited: from its arrival to its placement, or so far where it still waits
    waits: as `waited`, in microseconds
    evicted: whether it was evicted at a time
    """

    pod: str
    nodes: tuple[str | None, ...]
    placed: tuple[Seconds | None, ...]
    waited: tuple[Seconds | None, ...]
    outcomes: tuple[PodOutcome | None, ...]
    waits: Annotated[tuple[int | None, ...], HIDDEN]
    evicted: Annotated[tuple[bool, ...], HIDDEN]

    @classmethod
    def of(
        cls, pod: str, records: Sequence[PodRecord | None], waits: Sequence[int | None]
    ) -> ReplayDifference:
        return cls(
            pod,
            tuple((record.node or None) if record else None for record in records),
            tuple(optional_seconds(record.placed) if record else None for record in records),
            tuple(map(optional_seconds, waits)),
            tuple(record.outcome if record else None for record in records),
            tuple(waits),
            tuple(record is not None and record.evicted is not None for record in records),
        )

    def delay(self, side: int) -> int:
        """Return how much longer it waited on a side than on the first; 0 where it did not wait on
        one of them. Microseconds."""
        first, other = self.waits[0], self.waits[side]
        return 0 if first is None or other is None else other - first


class ReplaySideResult(Part, frozen=True):
    """A replay that is compared.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    differing: how many pods fared otherwise than on the first side
    kubernetes_version: whose rules decided
    end: seconds after the start; so are all times
    waiting: for a node; pods that still wait at the end count with the time so far
    pending_hours: the hours that pods were without a node, added up; gated pods do not count
    jobs: of pod groups, controllers and pods alone; null where none was completed
    users: of jobs: values of a label, or namespaces
    nodes: how many there were over time
    cost: of the nodes, where prices are given
    autoscaler: with --autoscaler
    regret: at the end, with --regret only
    regret_over_time: with --regret-at only: by moment, and by priority, the highest first
    metrics: those of plugins and of --metric, by name; missing where there are none
    most_pending: at one moment
    """

    name: str
    run: Run
    differs_in: tuple[str, ...]
    differing: Count
    kubernetes_version: str
    end: Seconds
    summary: ReplaySummary
    waiting: WaitingTimes
    pending_hours: Hours
    jobs: JobFigures | None
    users: tuple[UserFigures, ...]
    nodes: NodeRange
    cost: ReplayCost | UnsetType = UNSET
    autoscaler: ScalingResult | UnsetType = UNSET
    regret: Regret | UnsetType = UNSET
    regret_over_time: tuple[RegretMoment, ...] | UnsetType = UNSET
    metrics: Mapping[str, float] | UnsetType = UNSET
    most_pending: Annotated[int, HIDDEN] = 0

    @classmethod
    def of(cls, side: ReplaySide, usage: UsageOverTime, differing: int) -> ReplaySideResult:
        replay = side.replay
        figures = replay_figures(replay, usage)
        return cls(
            side.named.name,
            shown_run(side.named.run),
            side.named.differs_in,
            differing,
            replay.cluster.engine.configuration.release.version,
            seconds(replay.clock.now),
            ReplaySummary.of(replay),
            replay_waits(replay).all,
            figures.pending_hours,
            figures.jobs,
            user_figures(replay, usage),
            NodeRange.of(replay.nodes, replay.clock.now),
            ReplayCost.of(replay) or UNSET,
            scaling_of(replay) or UNSET,
            most_pending=int(usage.pending.max()),
        )


class ReplayComparison(StateAnswer, frozen=True, kw_only=True):
    """Runs with a timeline, side by side.

    pods: that were placed elsewhere, at another time or not on every side
    pod_count: of all pods
    undecided: a plugin's failure left a pod undecided
    curves: of the page, one per side
    """

    COMMAND: ClassVar = "compare"
    VIEW: ClassVar = "replay_comparison:view"
    ROWS: ClassVar = "pods"

    kind: Literal["Comparison"] = "Comparison"
    sides: tuple[ReplaySideResult, ...]
    pods: tuple[ReplayDifference, ...]
    pod_count: Annotated[int, HIDDEN]
    undecided: Annotated[bool, HIDDEN] = False
    curves: Annotated[tuple[ReplayCurves, ...], HIDDEN] = ()

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.pods, self.undecided)


def compare_replays(sides: Sequence[ReplaySide]) -> ReplayComparison:
    """Return the differences between the sides; the others are compared with the first."""
    pods = dict.fromkeys(pod for side in sides for pod in side.records)
    differing = [0] * len(sides)
    differences = []
    for pod in pods:
        records = tuple(side.records.get(pod) for side in sides)
        first, *others = (
            None if each is None else (each.node, each.placed, each.outcome is PodOutcome.EVICTED)
            for each in records
        )
        differs = [False, *(other != first for other in others)]
        if any(differs):
            waits = tuple(
                None if record is None else wait_of(record, side.replay.clock.now)
                for record, side in zip(records, sides, strict=True)
            )
            differences.append(ReplayDifference.of(pod, records, waits))
        differing = [count + each for count, each in zip(differing, differs, strict=True)]
    usages = [UsageOverTime(side.replay) for side in sides]
    return ReplayComparison(
        sides=tuple(map(ReplaySideResult.of, sides, usages, differing)),
        pods=tuple(differences),
        pod_count=len(pods),
        curves=tuple(
            ReplayCurves.of(side.replay, usage) for side, usage in zip(sides, usages, strict=True)
        ),
    )


# -- several draws: the means of figures, and how sure these are ----------------------------------
#
# The intervals are Student's t at 95 %. Sides are compared draw by draw: both sides of a pair have
# the same seed, so that what the draws have in common drops out.

# Figures of the machine, not of what was decided.
NOT_COMPARED = ("seconds",)
DIGITS = 6
# Student's t for 95 % in two tails, by degrees of freedom from 1 on.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Interval(Part, frozen=True):
    """A mean, and the interval that has the true one in 95 of 100 cases."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """values: at least one; a single one says nothing of the others, and is taken as it is"""
        mean = fmean(values)
        if len(values) < 2:
            return cls(mean, mean, mean)
        # Student's t for 95 %: exact up to 30 degrees of freedom, then by its expansion about the
        # normal distribution.
        freedom = len(values) - 1
        if freedom <= len(_T):
            quantile = _T[freedom - 1]
        else:
            z = NormalDist().inv_cdf(0.975)
            quantile = z + (z**3 + z) / (4 * freedom)
            quantile += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        half = quantile * stdev(values) / sqrt(len(values))
        return cls(mean, mean - half, mean + half)

    @property
    def has_zero(self) -> bool:
        return self.low <= 0 <= self.high


class DifferenceInterval(Interval, frozen=True):
    """A difference to the first side, paired by seed.

    within_noise: the interval has 0 in it
    """

    within_noise: bool


class DrawnSide(Part, frozen=True):
    """A side over several draws.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    summary: figures as those of a single draw, each as {mean, low, high}
    differences: by figure, how much more than on the first side, paired by seed; none on the first
                 side
    figures: by name, as `utilization.cpu.mean`
    """

    name: str
    run: Run
    differs_in: tuple[str, ...]
    summary: Mapping[str, Any]
    differences: Mapping[str, DifferenceInterval]
    figures: Annotated[Mapping[str, Interval], HIDDEN]


class FigureOfSide(Part, frozen=True):
    """A figure of a side over several draws.

    low, high: of the 95 % interval of the mean; the others of the difference to the first side,
               null on the first side
    """

    side: str
    figure: str
    mean: float
    low: float
    high: float
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    within_noise: bool | None = None

    @classmethod
    def of(
        cls, side: str, figure: str, interval: Interval, difference: DifferenceInterval | None
    ) -> FigureOfSide:
        bounds = (round(bound, DIGITS) for bound in structs.astuple(interval))
        return cls(side, figure, *bounds, *(structs.astuple(difference) if difference else ()))


class DrawnComparison(StateAnswer, frozen=True, kw_only=True):
    """Several draws per side: every figure is a mean with its 95 % interval (Student's t).

    seeds: of the draws on the first side; other sides have the same unless a side has a seed of its
           own
    pods: empty: pods are compared draw by draw without --seeds
    curves: of the page, one per side; none without a timeline
    """

    COMMAND: ClassVar = "compare"
    VIEW: ClassVar = "replay_comparison:drawn"
    ROWS: ClassVar = "figures_of_sides"

    kind: Literal["Comparison"] = "Comparison"
    seeds: tuple[int, ...]
    sides: tuple[DrawnSide, ...]
    pods: Annotated[tuple[str, ...], Meta(max_length=0)] = ()
    curves: Annotated[tuple[ReplayCurves, ...], HIDDEN] = ()

    @property
    def figures_of_sides(self) -> tuple[FigureOfSide, ...]:
        """Return each figure of each side, for CSV and Python."""
        return tuple(
            FigureOfSide.of(side.name, figure, interval, side.differences.get(figure))
            for side in self.sides
            for figure, interval in side.figures.items()
        )

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.differs)

    @property
    def differs(self) -> bool:
        """Return whether any figure differs by more than the noise."""
        return any(
            not difference.within_noise
            for side in self.sides
            for difference in side.differences.values()
        )


class ReplayDraws(StateAnswer, frozen=True, kw_only=True):
    """Several draws of one replay: every figure is a mean with its 95 % interval (Student's t).

    timeline: the file
    summary: figures as `sweep` has those of a replay, each as {mean, low, high}
    figures: by name, as `wait.mean`
    draws: the figures of each draw
    curves: of the page
    """

    COMMAND: ClassVar = "replay"
    VIEW: ClassVar = "replay_comparison:draws"
    ROWS: ClassVar = "rows_of_figures"

    kind: Literal["ReplayDraws"] = "ReplayDraws"
    timeline: str
    seeds: tuple[int, ...]
    summary: Mapping[str, Any]
    figures: Annotated[Mapping[str, Interval], HIDDEN]
    draws: Annotated[tuple[Mapping[str, float], ...], HIDDEN] = ()
    curves: Annotated[ReplayCurves | None, HIDDEN] = None

    @property
    def rows_of_figures(self) -> tuple[Mapping[str, Any], ...]:
        """Return the name and the interval of each figure, for CSV and Python."""
        return tuple(
            {"figure": name, **structs.asdict(interval)} for name, interval in self.figures.items()
        )

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not any(draw["pending"] for draw in self.draws))


def replay_draws(
    timeline: str,
    figures: Sequence[Mapping[str, float]],
    seeds: Sequence[int],
    curves: ReplayCurves | None = None,
) -> ReplayDraws:
    """figures: one per seed, in the order of the seeds; curves: of all draws"""
    intervals = _intervals(figures)
    return ReplayDraws(
        timeline=timeline,
        seeds=tuple(seeds),
        summary=_nested(intervals),
        figures=intervals,
        draws=tuple(figures),
        curves=curves,
    )


def compare_draws(
    runs: Sequence[NamedRun],
    figures: Sequence[Sequence[Mapping[str, float]]],
    curves: Sequence[ReplayCurves] = (),
) -> DrawnComparison:
    """figures: of each side, one per seed, in the order of the seeds; curves: of each side."""
    first, sides = runs[0].run.seed or 0, []
    for side, own in zip(runs, figures, strict=True):
        common = _common(own)
        paired = [name for name in _common(figures[0]) if name in common and own is not figures[0]]
        intervals = _intervals(own)
        differences = {}
        for name in paired:
            pairs = zip(figures[0], own, strict=True)
            interval = Interval.of([other[name] - before[name] for before, other in pairs])
            differences[name] = DifferenceInterval(
                round(interval.mean, DIGITS),
                round(interval.low, DIGITS),
                round(interval.high, DIGITS),
                interval.has_zero,
            )
        sides.append(
            DrawnSide(
                side.name,
                shown_run(side.run),
                side.differs_in,
                _nested(intervals),
                differences,
                intervals,
            )
        )
    seeds = tuple(range(first, first + len(figures[0])))
    return DrawnComparison(seeds=seeds, sides=tuple(sides), curves=tuple(curves))


def _nested(figures: Mapping[str, Interval]) -> dict[str, Any]:
    """Return figures rounded and nested, `utilization.cpu.mean` as in a document."""
    nested: dict[str, Any] = {}
    for name, interval in figures.items():
        *path, key = name.split(".")
        if path[:1] in (["utilization"], ["users"]):
            # The name of a resource or a user may have dots.
            path = [path[0], ".".join(path[1:])]
        inner = nested
        for step in path:
            inner = inner.setdefault(step, {})
        inner[key] = Interval(*(round(bound, DIGITS) for bound in structs.astuple(interval)))
    return nested


def _intervals(draws: Sequence[Mapping[str, float]]) -> dict[str, Interval]:
    return {name: Interval.of([draw[name] for draw in draws]) for name in _common(draws)}


def _common(draws: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the figures to compare that every draw has."""
    names = [name for name in draws[0] if name not in NOT_COMPARED] if draws else []
    return [name for name in names if all(name in draw for draw in draws)]


# -- the question ---------------------------------------------------------------------------------


class Compare(Question[Comparison | ReplayComparison], frozen=True, kw_only=True):
    """Compare two Runs or more with the first. Runs with timelines are replayed.

    names:  of the sides; by default what differs between them
    at_end: compare the clusters at the ends of the timelines instead
    metrics: functions, or texts as --metric takes them
    """

    USES: ClassVar = ("prices",)

    names: tuple[str, ...] = ()
    at_end: bool = False
    metrics: tuple[MetricSource, ...] = ()

    def answer(self, opened: Opened) -> Comparison | ReplayComparison:
        check_timelines(opened.runs)
        if any(run.regret for run in opened.runs):
            check_solver()
        if opened.run.timeline and not self.at_end:
            metrics = load_metrics(self.metrics)
            regrets = [RegretOverTime(opened.opener, run, metrics) for run in opened.runs]
            replays = [
                ReplaySide.of(
                    each, opened.replay(each.run, Watch(keeps_records=True, on_look=regret.on_look))
                )
                for each, regret in zip(
                    named(opened.runs, opened.opener.inputs), regrets, strict=True
                )
            ]
            answer = compare_replays(replays)
            answer = structs.replace(
                answer,
                sides=tuple(
                    structs.replace(
                        result, metrics=_own_figures(side, metrics), **regret.of(side.replay)
                    )
                    for result, side, regret in zip(answer.sides, replays, regrets, strict=True)
                ),
                undecided=any(side.replay.scheduler.failed for side in replays),
            )
            for side in replays:
                lines = replay_warnings(side.replay)
                opened.warn(*(f"{side.named.name}: {line}" for line in lines))
            return answer
        with opened.observer.progress("pods placed") as on_progress:
            watch = Watch(on_progress=on_progress)
            sides = sides_of(opened.opener, opened.runs, watch, load_metrics(self.metrics))
            for at, name in enumerate(self.names):
                own = structs.replace(sides[at].named, name=name)
                sides[at] = dataclasses.replace(sides[at], named=own)
            opened.introduce(*(side.simulation for side in sides))
            return compare(sides)


def _own_figures(side: ReplaySide, metrics: Sequence[Metric]) -> Mapping[str, float] | UnsetType:
    def record() -> ReplayResult:
        return replay_result(side.replay, name_of(side.named.run.timeline))

    return own_figures(side.replay.cluster.engine, metrics, record) or UNSET


def check_timelines(runs: Sequence[Run]) -> None:
    """Check that all or none of the Runs have a timeline. Raises UsageError where only some of the
    Runs are replayed."""
    if len({bool(run.timeline) for run in runs}) > 1:
        raise UsageError("only one side has a timeline: move --timeline before the first --vs")

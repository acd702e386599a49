"""Runs of one state side by side: which pods end up elsewhere and why, and how full the nodes are.

Every side is run once, as `schedule` runs it. Then the first side, and each that differs from it,
is run again up to the pods whose causes are looked for, to see their nodes as their attempts saw
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from msgspec import structs

from ksched_cli.analysis.causes import Cause, PodViews, cause_of_move, obstacle_on, views
from ksched_cli.analysis.pending import owner_path
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
from ksched_cli.engine.simulation import Simulation
from ksched_cli.run.differences import NamedRun, named
from ksched_cli.run.open import Opener, Watch
from ksched_cli.run.run import Run

# Causes are looked for where a pod is among the first so many that differ, and its last attempt
# among the first so many attempts of a run, or in its first half.
MAX_CAUSES = 100
MAX_ATTEMPTS = 5_000
DIGITS = 4  # of shares

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


@dataclass(frozen=True, slots=True)
class Side:
    """A run to compare. simulation: has not run yet; reopen: makes another like it."""

    named: NamedRun
    simulation: Simulation
    reopen: Callable[[], Simulation]


class Place(NamedTuple):
    """The place of a pod after a side's run. node: None where it is on none."""

    node: str | None
    standing: Standing


class SideSummary(Part, frozen=True):
    """What a side's run came to.

    nodes_used: how many nodes have a pod
    utilization: by resource, the shares that pods request of the nodes that have any: 0.5 is half
                 of a node's allocatable
    """

    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    nodes_used: Count
    utilization: Mapping[str, Utilization]


class SideResult(Part, frozen=True):
    """A run that is compared.

    name: what differs between this side's run and the others'
    run: what the side was made of: every option that decides, as a Run
    kubernetes_version: whose rules decided
    differs_in: the axes in which this side's run differs from the first side's, files compared by
                content
    differing: how many pods end up otherwise than on the first side
    usages: of its nodes, for a page
    """

    name: str
    run: Run
    kubernetes_version: str
    differs_in: tuple[str, ...]
    differing: Count
    summary: SideSummary
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


class Comparison(StateAnswer, frozen=True, kw_only=True):
    """Runs at one instant, side by side.

    sides: the runs compared, the first of which the others are compared with
    pods: those that not all sides leave in one place, by name
    pod_count: how many there are on any side
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "compare"
    ROWS: ClassVar = "pods"

    kind: Literal["Comparison"] = "Comparison"
    sides: tuple[SideResult, ...]
    pods: tuple[PodDifference, ...]
    pod_count: Annotated[int, HIDDEN]
    undecided: Annotated[bool, HIDDEN] = False


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


def sides_of(opener: Opener, runs: Sequence[Run], watch: Watch) -> list[Side]:
    """Open a side per Run. The others are compared with the first. Raises KschedError."""
    return [
        Side(
            each,
            opener.simulation(each.run, watch),
            partial(opener.simulation, each.run, watch),
        )
        for each in named(runs, opener.inputs)
    ]


def compare(sides: Sequence[Side]) -> Comparison:
    """Run all sides, and compare the others with the first."""
    outcomes = [_outcome(side) for side in sides]
    differing = _differing(outcomes)
    places = {key: tuple(outcome.place(key) for outcome in outcomes) for key in differing}
    owners = {key: _owner(outcomes, key) for key in differing}
    results = tuple(
        _result(outcome, sum(differs(each[0], each[index]) for each in places.values()))
        for index, outcome in enumerate(outcomes)
    )
    examined = _examined(outcomes, places, owners)
    for outcome in outcomes:
        nodes = {key: {place.node for place in places[key] if place.node} for key in examined}
        attempted = {key: names for key, names in nodes.items() if key in outcome.run.last}
        if attempted:
            simulation = outcome.side.reopen()
            outcome.views = views(simulation, outcome.run, attempted)
            simulation.close()
    pods = [
        PodDifference.of(key, owners[key], places[key], _cause(outcomes, key, places[key]))
        if key in examined
        else PodDifference.of(key, owners[key], places[key])
        for key in sorted(differing)
    ]
    count = len(set().union(*(outcome.pods for outcome in outcomes)))
    return Comparison(
        sides=results,
        pods=tuple(pods),
        pod_count=count,
        undecided=any(outcome.run.failed for outcome in outcomes),
    )


def with_usages(answer: Comparison, sides: Sequence[Side]) -> Comparison:
    """The answer with how full the nodes are on each side, which a page shows."""
    results = [
        structs.replace(result, usages=node_usages(side.simulation.snapshot))
        for result, side in zip(answer.sides, sides, strict=True)
    ]
    return structs.replace(answer, sides=tuple(results))


def _outcome(side: Side) -> _Outcome:
    simulation = side.simulation
    run = simulation.run()
    simulation.close()
    pods = {pod.key: pod for pod in simulation.state.pods}
    evictions = {eviction.pod: eviction for eviction in run.evicted}
    return _Outcome(side, run, run.nodes(pods.values()), pods, evictions)


def differs(first: Place, other: Place) -> bool:
    """Whether a pod is on another node, or on none for another reason."""
    return first.node != other.node or (not first.node and first != other)


def _result(outcome: _Outcome, differing: int) -> SideResult:
    run, snapshot = outcome.run, outcome.side.simulation.snapshot
    return SideResult(
        outcome.side.named.name,
        outcome.side.named.run,
        outcome.side.simulation.configuration.release.version,
        outcome.side.named.differs_in,
        differing,
        SideSummary(
            len(run.placements),
            len(run.pending),
            len(run.gated),
            len(run.evicted),
            nodes_used(snapshot),
            {name: share.rounded(DIGITS) for name, share in utilization(snapshot).items()},
        ),
    )


def _differing(outcomes: Sequence[_Outcome]) -> list[str]:
    """Return the pods that are not on the same node everywhere, or on none for other reasons, in
    the order of the sides' states."""
    first, *others = outcomes
    differing: dict[str, None] = {}
    for other in others:
        for key in {**first.pods, **other.pods}:
            node = first.nodes.get(key)
            if node != other.nodes.get(key) or (
                node is None and first.place(key) != other.place(key)
            ):
                differing[key] = None
    return list(differing)


def _owner(outcomes: Iterable[_Outcome], key: str) -> str:
    for outcome in outcomes:
        if key in outcome.pods:
            return owner_path(outcome.pods[key])
    return key


def _examined(
    outcomes: Sequence[_Outcome],
    places: Mapping[str, tuple[Place, ...]],
    owners: Mapping[str, str],
) -> set[str]:
    """Return the pods whose causes are looked for: the first of every owner and kind of difference,
    then the second of each, and so on; not those whose turn comes late in a long run."""
    turns: list[dict[str, int]] = []
    for outcome in outcomes:
        attempts = outcome.run.attempts
        turns.append({attempt.pod: index for index, attempt in enumerate(attempts)})
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
    return {key for _, _, key in sorted(candidates)[:MAX_CAUSES]}


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
    return _cause_of_waiting(without, key, place.node or "")


def _cause_of_waiting(outcome: _Outcome, key: str, node: str) -> Cause:
    """Return why the pod is on no node in this outcome. node: where it is in the other, or ""."""
    gate = outcome.run.gated.get(key)
    if gate is not None:
        return Cause(gate.plugin, gate.message, outcome.name)
    obstacle = obstacle_on(outcome.name, node, outcome.views.get(key)) if node else None
    return obstacle or Cause("", outcome.message(key) or "is left out", outcome.name)

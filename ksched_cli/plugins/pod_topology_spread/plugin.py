"""Keeps pods of a kind evenly spread over zones, hosts or other domains: strictly, or as a wish.

A pod without constraints of its own gets default ones, about what its services and owner select.

Upstream: plugins/podtopologyspread (plugin.go, filtering.go, scoring.go, common.go).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects import TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import SelectorError
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.domain_counts import Codes, Domains, Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import PodIndex
from ksched_cli.config import types as config
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    Explains,
    FilterPlugin,
    NormalizeScore,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.int64 import divide
from ksched_cli.kube.quantity import MAX_INT64
from ksched_cli.plugins.pod_topology_spread import explain as explained
from ksched_cli.plugins.pod_topology_spread.constraints import (
    HOSTNAME,
    Constraint,
    CountedConstraint,
    Counting,
    parse,
    places,
)
from ksched_cli.plugins.pod_topology_spread.defaults import default_selector

PRE_FILTER_KEY = "PreFilterPodTopologySpread"
PRE_SCORE_KEY = "PreScorePodTopologySpread"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
INVALID_SCORE = -1

SKEWED = Status.unschedulable("node(s) didn't match pod topology spread constraints")
UNLABELLED = Status.unresolvable(
    "node(s) didn't match pod topology spread constraints (missing required label)"
)
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT
    ),
)


@dataclass(frozen=True, slots=True)
class FilterState:
    """One tally per constraint."""

    constraints: tuple[CountedConstraint, ...]
    tallies: tuple[Tally, ...]

    def clone(self) -> FilterState:
        return FilterState(self.constraints, tuple(tally.clone() for tally in self.tallies))


@dataclass(frozen=True, slots=True)
class SoftConstraints:
    """A pod's soft constraints.

    places: per constraint, the domain that each node lies in
    usable: the nodes that have all topology keys, where they must; None: all nodes
    strict: whether they must
    """

    constraints: tuple[CountedConstraint, ...] = ()
    places: tuple[Domains, ...] = ()
    usable: Mask | None = None
    strict: bool = False

    def on(self, nodes: Snapshot) -> SoftConstraints:
        """The same about nodes that an extender sent back: with the labels it sent, and, as
        upstream counts pods per hostname on the very nodes it is given, with no pods there."""
        places, constraints = [], []
        for one in self.constraints:
            column = nodes.labels[one.constraint.topology_key]
            places.append(Domains(one.constraint.topology_key, column.values, column.codes))
            codes = column.codes
            if one.constraint.topology_key == HOSTNAME:
                codes = np.full_like(codes, MISSING)
            constraints.append(replace(one, labelled=places[-1], where=codes))
        usable = None
        if self.strict:
            usable = np.logical_and.reduce([place.codes != MISSING for place in places])
        return SoftConstraints(tuple(constraints), tuple(places), usable, self.strict)


@dataclass(frozen=True, slots=True)
class ScoreState:
    """weights: per constraint, what a pod counts for; more where there are many domains."""

    wishes: SoftConstraints
    weights: tuple[float, ...]


class PodTopologySpread(
    PreFilterPlugin,
    FilterPlugin,
    PreFilterExtensions,
    PreScorePlugin,
    ScorePlugin,
    NormalizeScore,
    Explains,
):
    name = "PodTopologySpread"
    scope = Scope.CLUSTER

    def __init__(self, args: config.PodTopologySpreadArgs, handle: Handle) -> None:
        self._by_system = args.defaulting_type == "System"
        listed = tuple(map(_constraint, args.default_constraints or ()))
        self._defaults = SYSTEM_DEFAULTS if self._by_system else listed
        self._cluster = handle.cluster
        self._index = PodIndex.of(handle.snapshot)

    def scope_for(self, pod: PodInfo) -> Scope:
        """Who is not to be spread does not care who is where."""
        try:
            spreads = self._index.derived(self._hard, pod) or (
                self._index.derived(self._soft, pod).constraints
            )
        except PluginError:
            return Scope.CLUSTER
        return Scope.CLUSTER if spreads else Scope.NODE

    # -- constraints ------------------------------------------------------------------------------

    def _hard(self, pod: PodInfo) -> tuple[CountedConstraint, ...]:
        constraints = self._constraints(pod, HARD)
        counting = Counting(self._index, pod, [one.topology_key for one in constraints])
        return tuple(counting.by_domain(one) for one in constraints)

    def _soft(self, pod: PodInfo) -> SoftConstraints:
        constraints = self._constraints(pod, SOFT)
        if not constraints:
            return SoftConstraints()
        # The system's own defaults also spread over hosts that are in no zone.
        own = bool(pod.spec.topology_spread_constraints) or not self._by_system
        keys = [one.topology_key for one in constraints]
        counting = Counting(self._index, pod, keys if own else ())
        return SoftConstraints(
            tuple(
                counting.by_node(one) if one.topology_key == HOSTNAME else counting.by_domain(one)
                for one in constraints
            ),
            tuple(places(self._index, key) for key in keys),
            self._with_all(keys) if own else None,
            own,
        )

    def _constraints(self, pod: PodInfo, action: str) -> tuple[Constraint, ...]:
        """The pod's own constraints or the default ones. Raises PluginError."""
        own = pod.spec.topology_spread_constraints
        said = "obtaining pod's" if own else "setting default"
        kind = "hard" if action == HARD else "soft"
        try:
            found = parse(own or self._defaults, pod.labels, action)
        except SelectorError as error:
            raise PluginError(f"{said} {kind} topology spread constraints: {error}") from None
        if own or not found:
            return found
        selector = default_selector(pod, self._cluster)
        if not selector.requirements:
            return ()
        return tuple(replace(one, selector=selector) for one in found)

    def _with_all(self, keys: Sequence[str]) -> Mask | None:
        """The nodes that have every key; None where all do."""
        lacking = [one for key in keys if not (one := self._index.domains(key)).complete]
        if not lacking:
            return None
        return np.logical_and.reduce([one.codes != MISSING for one in lacking])

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        try:
            constraints = self._index.derived(self._hard, pod)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from None
        if not constraints:
            return None, SKIP
        tallies = tuple(Tally.of((one.counter,), one.counter.domains) for one in constraints)
        state.write(PRE_FILTER_KEY, FilterState(constraints, tallies))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return self._follow(state, pod, added, node, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        return self._follow(state, pod, removed, node, -1)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        found: FilterState | None = state.data.get(PRE_FILTER_KEY)
        return found is None or (
            other.namespace == pod.namespace
            and any(one.constraint.selector.matches(other.labels) for one in found.constraints)
        )

    def _follow(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        try:
            found: FilterState = state.read(PRE_FILTER_KEY)
        except PluginError as missing:
            return Status.error(str(missing))
        if other.namespace != pod.namespace:
            return SUCCESS
        for one, tally in zip(found.constraints, found.tallies, strict=True):
            # Unlike PreFilter, upstream counts pods that are being deleted here, and those that a
            # selector matches which matches all.
            if one.constraint.selector.matches(other.labels):
                tally.add(node.row, number)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        found: FilterState = state.read(PRE_FILTER_KEY)
        verdicts = Verdicts.passing(len(nodes))
        for one, tally in zip(found.constraints, found.tallies, strict=True):
            if not one.labelled.complete:
                verdicts.reject(nodes.gather(one.labelled.codes) == MISSING, UNLABELLED)
            allowed = one.constraint.max_skew + _least(one, tally) - one.matches_self
            crowded = tally.at(one.labelled, nodes.rows) > allowed
            if np.count_nonzero(crowded):
                verdicts.reject(crowded, SKEWED)
        return verdicts

    # -- score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        try:
            wishes = self._index.derived(self._soft, pod)
        except PluginError as error:
            raise PluginError(f"calculating preScoreState: {error}") from None
        if not wishes.constraints:
            return SKIP
        if nodes.snapshot is not self._index.snapshot:
            wishes = wishes.on(nodes.snapshot)
        rows = nodes.indices()
        if wishes.usable is not None:
            rows = rows[wishes.usable[rows]]
        sizes = (
            len(rows) if place.key == HOSTNAME else _distinct(place, place.codes[rows])
            for place in wishes.places
        )
        state.write(PRE_SCORE_KEY, ScoreState(wishes, tuple(math.log(size + 2) for size in sizes)))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """The weighted number of pods in the node's domains; fewer is better."""
        found = _score_state(state)
        sums = np.zeros(len(nodes), dtype=np.float64)
        for one, weight in zip(found.wishes.constraints, found.weights, strict=True):
            counts = one.counter.counts[nodes.gather(one.where)]
            # In this order and precision: the sums are rounded.
            part = counts * weight + float(one.constraint.max_skew - 1)
            if not one.labelled.complete:
                part[nodes.gather(one.labelled.codes) == MISSING] = 0
            sums += part
        if found.wishes.usable is not None:
            sums[~nodes.gather(found.wishes.usable)] = 0
        return _rounded(sums)

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        usable = _score_state(state).wishes.usable
        if usable is not None:
            scores = np.where(nodes.gather(usable), scores, INVALID_SCORE)
        # A raw score that happens to be INVALID_SCORE, as max skew 0 makes it, counts as one too,
        # but only once the bounds are known.
        scored = scores if usable is None else scores[nodes.gather(usable)]
        least = int(scored.min(initial=MAX_INT64))
        most = int(scored.max(initial=0))
        if not most:
            return np.where(scores == INVALID_SCORE, 0, MAX_NODE_SCORE)
        found = divide(MAX_NODE_SCORE * (most + least - scores), most)
        return np.where(scores == INVALID_SCORE, 0, found)

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        found: FilterState = state.read(PRE_FILTER_KEY)
        lines = [
            explained.filter_line(one, tally, _least(one, tally), node)
            for one, tally in zip(found.constraints, found.tallies, strict=True)
        ]
        return [line for line in lines if line]

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        found = _score_state(state)
        if found.wishes.usable is not None and not found.wishes.usable[node.row]:
            return ["the node lacks a label that the pod is to be spread by: scored as the worst"]
        lines = [
            explained.score_line(one, weight, node)
            for one, weight in zip(found.wishes.constraints, found.weights, strict=True)
        ]
        return [line for line in lines if line]


def _least(one: CountedConstraint, tally: Tally) -> int:
    """The global minimum that a domain's count is held against."""
    if len(tally.domains.present) < one.constraint.min_domains:
        return 0
    return tally.domains.least(tally.current())


def _distinct(place: Domains, codes: Codes) -> int:
    """How many domains there are among the nodes; no domain at all is one too."""
    seen = np.zeros(len(place.values) + 1, dtype=np.bool_)
    seen[codes] = True
    return int(np.count_nonzero(seen))


def _rounded(sums: NDArray[np.float64]) -> Scores:
    """Half away from zero, as Go's math.Round."""
    whole = np.trunc(sums)
    whole += np.where(np.abs(sums - whole) >= 0.5, np.sign(sums), 0)
    return whole.astype(np.int64)


def _score_state(state: CycleState) -> ScoreState:
    try:
        found: ScoreState = state.read(PRE_SCORE_KEY)
    except PluginError as missing:
        raise PluginError(f"error {missing}") from None
    return found


def _constraint(one: config.TopologySpreadConstraint) -> TopologySpreadConstraint:
    """The configuration's type to the cluster's. Validation allows no selector in it."""
    return TopologySpreadConstraint(
        max_skew=one.max_skew,
        topology_key=one.topology_key,
        when_unsatisfiable=one.when_unsatisfiable,
        min_domains=one.min_domains,
        node_affinity_policy=one.node_affinity_policy,
        node_taints_policy=one.node_taints_policy,
        match_label_keys=one.match_label_keys or (),
    )

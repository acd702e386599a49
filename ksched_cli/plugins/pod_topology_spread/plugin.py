"""Rejects nodes where a pod would exceed the max skew over zones, hosts or other domains; prefers
nodes in domains with few matching pods.

A pod without constraints of its own gets default ones, with the selector of its services and owner.

Upstream: plugins/podtopologyspread (plugin.go, filtering.go, scoring.go, common.go),
plugins/helper/spread.go (DefaultSelector, GetPodServices).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cluster.objects import LabelSelector, Node, TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import COMPARISON_GATE
from ksched_cli.cluster.topology.domain_counts import Codes, Domains, Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import PodIndex
from ksched_cli.cluster.topology.pod_selection import combined
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
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
    Proposal,
    Proposes,
    Scope,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.int64 import MAX_INT64, divide
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector, selector_of_map
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.helper.hints import had_node, pod_registrations
from ksched_cli.plugins.helper.signatures import Fragments
from ksched_cli.plugins.pod_topology_spread import args as args_types
from ksched_cli.plugins.pod_topology_spread import explain as explained
from ksched_cli.plugins.pod_topology_spread.args import PodTopologySpreadArgs
from ksched_cli.plugins.pod_topology_spread.constraints import (
    HOSTNAME,
    Constraint,
    ConstraintCounters,
    CountedConstraint,
    domains_with_empty,
    filter_constraints,
)
from ksched_cli.plugins.pod_topology_spread.proposals import proposals

PRE_FILTER_KEY = "PreFilterPodTopologySpread"
PRE_SCORE_KEY = "PreScorePodTopologySpread"
HARD = "DoNotSchedule"
INVALID_SCORE = -1

CONSTRAINTS_NOT_MATCH = Status.unschedulable("node(s) didn't match pod topology spread constraints")
NODE_LABEL_NOT_MATCH = Status.unresolvable(
    "node(s) didn't match pod topology spread constraints (missing required label)"
)


class PreFilterState(Struct, frozen=True):
    """One tally per constraint."""

    constraints: tuple[CountedConstraint, ...]
    tallies: tuple[Tally, ...]

    def clone(self) -> PreFilterState:
        return PreFilterState(self.constraints, tuple(tally.clone() for tally in self.tallies))


class SoftConstraints(Struct, frozen=True):
    """A pod's constraints that score.

    node_domains:           per constraint, the domain of each node, "" where it may lack the label
    eligible:               the nodes that have all topology keys, where they must; None: all nodes
    require_all_topologies: whether they must
    """

    constraints: tuple[CountedConstraint, ...] = ()
    node_domains: tuple[Domains, ...] = ()
    eligible: Mask | None = None
    require_all_topologies: bool = False

    def on(self, nodes: Snapshot) -> SoftConstraints:
        """The same for nodes that an extender returned: with their labels, and 0 pods per hostname,
        because upstream counts those on the returned nodes, which have no pods."""
        node_domains, constraints = [], []
        for counted in self.constraints:
            key = counted.constraint.topology_key
            column = nodes.labels[key]
            domains = Domains(key, column.values, column.codes)
            node_domains.append(domains)
            codes = np.full_like(column.codes, MISSING) if key == HOSTNAME else column.codes
            constraints.append(replace(counted, node_domains=domains, codes=codes))
        eligible = None
        if self.require_all_topologies:
            eligible = np.logical_and.reduce([d.codes != MISSING for d in node_domains])
        return SoftConstraints(
            tuple(constraints), tuple(node_domains), eligible, self.require_all_topologies
        )


class PreScoreState(Struct, frozen=True):
    """weights: per constraint, of one matching pod; grows with the number of domains."""

    soft: SoftConstraints
    weights: tuple[float, ...]


class PodTopologySpread(
    PreFilterPlugin,
    FilterPlugin,
    PreFilterExtensions,
    PreScorePlugin,
    ScorePlugin,
    NormalizeScore,
    SignPlugin,
    Explains,
    Proposes,
):
    name = "PodTopologySpread"
    scope = Scope.CLUSTER

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system_defaulted = args.defaulting_type == "System"
        self._defaults = default_constraints(args)
        self.signs_pods = not self._defaults
        self._cluster = handle.cluster
        self._index = handle.snapshot.index(PodIndex)
        self._compares = handle.release.enabled(COMPARISON_GATE)
        self._rules = handle.release.rules

    def scope_for(self, pod: PodInfo) -> Scope:
        """Pods without constraints do not depend on other pods."""
        try:
            constraints = self._index.derived(self._hard_constraints, pod) or (
                self._index.derived(self._soft_constraints, pod).constraints
            )
        except PluginError:
            return Scope.CLUSTER
        return Scope.CLUSTER if constraints else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        return None if pod.spec.topology_spread_constraints else {}

    def events_to_register(self) -> Iterable[Registration]:
        return registrations(lambda pod: self._constraints(pod, HARD), self._rules)

    # -- constraints ------------------------------------------------------------------------------

    def _hard_constraints(self, pod: PodInfo) -> tuple[CountedConstraint, ...]:
        constraints = self._constraints(pod, HARD)
        keys = [constraint.topology_key for constraint in constraints]
        counters = ConstraintCounters(self._index, pod, keys, self._compares)
        return tuple(map(counters.by_domain, constraints))

    def _soft_constraints(self, pod: PodInfo) -> SoftConstraints:
        constraints = self._constraints(pod, SOFT)
        if not constraints:
            return SoftConstraints()
        # Upstream: requireAllTopologies. The system defaults also count hosts without a zone.
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaulted
        keys = [constraint.topology_key for constraint in constraints]
        required_keys = keys if require_all else ()
        counters = ConstraintCounters(self._index, pod, required_keys, self._compares)
        return SoftConstraints(
            tuple(
                counters.by_node(constraint)
                if constraint.topology_key == HOSTNAME
                else counters.by_domain(constraint)
                for constraint in constraints
            ),
            tuple(domains_with_empty(self._index, key) for key in keys),
            self._having_all(keys) if require_all else None,
            require_all,
        )

    def _constraints(self, pod: PodInfo, action: str) -> tuple[Constraint, ...]:
        """The pod's own constraints or the default ones. Raises PluginError."""
        own = pod.spec.topology_spread_constraints
        action_text = "obtaining pod's" if own else "setting default"
        kind = "hard" if action == HARD else "soft"
        try:
            constraints = filter_constraints(own or self._defaults, pod.labels, action)
        except SelectorError as error:
            raise PluginError(
                f"{action_text} {kind} topology spread constraints: {error}"
            ) from None
        if own or not constraints:
            return constraints
        selector = default_selector(pod, self._cluster)
        if not selector.requirements:
            return ()
        return tuple(replace(constraint, selector=selector) for constraint in constraints)

    def _having_all(self, keys: Sequence[str]) -> Mask | None:
        """The nodes that have every key; None where all do."""
        all_domains = map(self._index.domains, keys)
        incomplete = [domains for domains in all_domains if not domains.complete]
        if not incomplete:
            return None
        return np.logical_and.reduce([domains.codes != MISSING for domains in incomplete])

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        try:
            constraints = self._index.derived(self._hard_constraints, pod)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from None
        if not constraints:
            return None, SKIP
        tallies = tuple(
            Tally.of((counted.counter,), counted.counter.domains) for counted in constraints
        )
        state.write(PRE_FILTER_KEY, PreFilterState(constraints, tallies))
        return None, SUCCESS

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return self._update_with_pod(state, pod, added, node, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        return self._update_with_pod(state, pod, removed, node, -1)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        filter_state: PreFilterState | None = state.data.get(PRE_FILTER_KEY)
        return filter_state is None or (
            other.namespace == pod.namespace
            and any(
                counted.constraint.selector.matches(other.labels)
                for counted in filter_state.constraints
            )
        )

    def _update_with_pod(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        """number: 1 where the other pod is added, -1 where it is removed."""
        try:
            filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        except PluginError as missing:
            return Status.error(str(missing))
        if other.namespace != pod.namespace:
            return SUCCESS
        for counted, tally in zip(filter_state.constraints, filter_state.tallies, strict=True):
            # Unlike PreFilter, upstream here counts terminating pods, and those that a selector
            # without requirements matches.
            if counted.constraint.selector.matches(other.labels):
                tally.add(node.row, number)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        verdicts = Verdicts.passing(len(nodes))
        for counted, tally in zip(filter_state.constraints, filter_state.tallies, strict=True):
            if not counted.node_domains.complete:
                verdicts.reject(
                    nodes.gather(counted.node_domains.codes) == MISSING, NODE_LABEL_NOT_MATCH
                )
            max_count = (
                counted.constraint.max_skew + _global_minimum(counted, tally) - counted.matches_self
            )
            if not tally.changes:
                # By domain first: there are fewer of them than nodes, and often none is skewed.
                skewed_domains = tally.counts > max_count
                if not np.count_nonzero(skewed_domains):
                    continue
                skewed = counted.node_domains.look_up(skewed_domains, nodes.rows)
            else:
                skewed = tally.at(counted.node_domains, nodes.rows) > max_count
            if np.count_nonzero(skewed):
                verdicts.reject(skewed, CONSTRAINTS_NOT_MATCH)
        return verdicts

    # -- score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        try:
            soft = self._index.derived(self._soft_constraints, pod)
        except PluginError as error:
            raise PluginError(f"calculating preScoreState: {error}") from None
        if not soft.constraints:
            return SKIP
        if nodes.snapshot is not self._index.snapshot:
            soft = soft.on(nodes.snapshot)
        rows = nodes.indices()
        if soft.eligible is not None:
            rows = rows[soft.eligible[rows]]
        sizes = (
            len(rows) if domains.key == HOSTNAME else _distinct(domains, domains.codes[rows])
            for domains in soft.node_domains
        )
        state.write(PRE_SCORE_KEY, PreScoreState(soft, tuple(math.log(size + 2) for size in sizes)))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """The weighted number of pods in the node's domains; fewer is better."""
        score_state = _pre_score_state(state)
        soft = score_state.soft
        sums = np.zeros(len(nodes), dtype=np.float64)
        for counted, weight in zip(soft.constraints, score_state.weights, strict=True):
            counts = counted.counter.counts[nodes.gather(counted.codes)]
            # In upstream's order and precision: the sums are rounded.
            part = counts * weight + float(counted.constraint.max_skew - 1)
            if not counted.node_domains.complete:
                part[nodes.gather(counted.node_domains.codes) == MISSING] = 0
            sums += part
        if soft.eligible is not None:
            sums[~nodes.gather(soft.eligible)] = 0
        return _rounded(sums)

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        eligible = _pre_score_state(state).soft.eligible
        if eligible is not None:
            scores = np.where(nodes.gather(eligible), scores, INVALID_SCORE)
        # A raw score equals INVALID_SCORE with max skew 0. Upstream then treats it as invalid, but
        # not when it computes the bounds.
        scored = scores if eligible is None else scores[nodes.gather(eligible)]
        min_score = int(scored.min(initial=MAX_INT64))
        max_score = int(scored.max(initial=0))
        if not max_score:
            return np.where(scores == INVALID_SCORE, 0, MAX_NODE_SCORE)
        normalized = divide(MAX_NODE_SCORE * (max_score + min_score - scores), max_score)
        return np.where(scores == INVALID_SCORE, 0, normalized)

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        lines = [
            explained.filter_line(counted, tally, _global_minimum(counted, tally), node)
            for counted, tally in zip(filter_state.constraints, filter_state.tallies, strict=True)
        ]
        return [line for line in lines if line]

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        own = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == HARD]
        if len(own) != len(filter_state.constraints):
            return  # the profile's default constraints
        skews: dict[int, int] = {}
        for index, (counted, tally) in enumerate(
            zip(filter_state.constraints, filter_state.tallies, strict=True)
        ):
            code = counted.node_domains.codes.item(node.row)
            if code == MISSING:
                skews[index] = 0
                continue
            count = int(tally.current()[code]) + counted.matches_self
            skew = count - _global_minimum(counted, tally)
            if skew > counted.constraint.max_skew:
                skews[index] = skew
        yield from proposals(pod.spec.topology_spread_constraints, own, skews)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        score_state = _pre_score_state(state)
        soft = score_state.soft
        if soft.eligible is not None and not soft.eligible[node.row]:
            return ["the node lacks a label of the spread constraints: it gets the lowest score"]
        lines = [
            explained.score_line(counted, weight, node)
            for counted, weight in zip(soft.constraints, score_state.weights, strict=True)
        ]
        return [line for line in lines if line]


def _global_minimum(counted: CountedConstraint, tally: Tally) -> int:
    """The fewest matching pods in a domain; 0 with fewer domains than minDomains (minMatchNum)."""
    if len(tally.domains.present) < counted.constraint.min_domains:
        return 0
    return tally.domains.least(tally.current())


def _distinct(domains: Domains, codes: Codes) -> int:
    """The number of distinct domains among the codes; MISSING counts as one."""
    seen = np.zeros(len(domains.values) + 1, dtype=np.bool_)
    seen[codes] = True
    return int(np.count_nonzero(seen))


def _rounded(sums: NDArray[np.float64]) -> Scores:
    """Half away from zero, as Go's math.Round."""
    whole = np.trunc(sums)
    whole += np.where(np.abs(sums - whole) >= 0.5, np.sign(sums), 0)
    return whole.astype(np.int64)


def _pre_score_state(state: CycleState) -> PreScoreState:
    return state.read(PRE_SCORE_KEY, "error reading")


# Gives the pod's constraints that a node must not violate; a plugin error means: ask again.
ConstraintsOf = Callable[[PodInfo], Sequence[Constraint]]
Labels = Mapping[str, str]


def registrations(constraints_of: ConstraintsOf, rules: Rules) -> Iterable[Registration]:
    """The events that may let a pod be where its constraints want it."""
    pod_actions = (
        Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
    )
    after_change = partial(after_pod_change, constraints_of, rules.follows_nominated_pods)
    yield from pod_registrations(pod_actions, after_change, rules)
    node_actions = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    yield ClusterEvent(NODE, node_actions), partial(after_node_change, constraints_of)


def after_pod_change(
    constraints_of: ConstraintsOf,
    follows_nominated: bool,
    pod: PodInfo,
    old: PodInfo | None,
    new: PodInfo | None,
) -> bool:
    """A pod that the constraints count comes, goes, or counts differently than before."""
    for other in (old, new):
        if other is None or other.key == pod.key:
            continue
        has_node = had_node(other) if follows_nominated else other.pod.node_name
        if not has_node or other.namespace != pod.namespace:
            return False
    constraints = constraints_of(pod)
    if old is None or new is None:
        other = old or new
        return other is not None and any(c.selector.matches(other.labels) for c in constraints)
    tolerates_more = new.key == pod.key and old.spec.tolerations != new.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return old.labels != new.labels and any(
        c.selector.matches(old.labels) != c.selector.matches(new.labels) for c in constraints
    )


def after_node_change(
    constraints_of: ConstraintsOf, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """A node that counts comes or goes, begins or ceases to count, or changes its domain or its
    taints."""
    constraints = constraints_of(pod)
    had_keys = old is not None and _has_keys(old.metadata.labels, constraints)
    has_keys = new is not None and _has_keys(new.metadata.labels, constraints)
    if old is None or new is None or had_keys != has_keys:
        return had_keys or has_keys
    return has_keys and (
        old.spec.taints != new.spec.taints
        or any(
            old.metadata.labels.get(c.topology_key) != new.metadata.labels.get(c.topology_key)
            for c in constraints
        )
    )


def _has_keys(labels: Labels, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


REPLICATION_CONTROLLER = ("v1", "ReplicationController")
REPLICA_SET = ("apps/v1", "ReplicaSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")

SOFT = "ScheduleAnyway"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT
    ),
)


def default_constraints(
    args: args_types.PodTopologySpreadArgs,
) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints of pods that have none. Validation rejects label selectors in them."""
    if args.defaulting_type == "System":
        return SYSTEM_DEFAULTS
    return tuple(
        TopologySpreadConstraint(
            max_skew=configured.max_skew,
            topology_key=configured.topology_key,
            when_unsatisfiable=configured.when_unsatisfiable,
            min_domains=configured.min_domains,
            node_affinity_policy=configured.node_affinity_policy,
            node_taints_policy=configured.node_taints_policy,
            match_label_keys=configured.match_label_keys or (),
        )
        for configured in args.default_constraints or ()
    )


def default_selector(pod: PodInfo, cluster: ClusterState) -> Selector:
    """Return the default selector, without requirements where the pod has no service and no owner
    with a selector."""
    labels: dict[str, str] = {}
    for (namespace, _), service in cluster.services.items():
        selector = service.spec.selector
        if namespace == pod.namespace and selector.items() <= pod.labels.items():
            labels |= selector
    owner = pod.pod.metadata.controller
    if owner is None:
        return selector_of_map(labels)
    kind, key = (owner.api_version, owner.kind), (pod.namespace, owner.name)
    if kind == REPLICATION_CONTROLLER and key in cluster.replication_controllers:
        return selector_of_map(labels | cluster.replication_controllers[key].spec.selector)
    services = selector_of_map(labels)
    if kind == REPLICA_SET and key in cluster.replica_sets:
        return _narrowed(services, cluster.replica_sets[key].spec.selector)
    if kind == STATEFUL_SET and key in cluster.stateful_sets:
        return _narrowed(services, cluster.stateful_sets[key].spec.selector)
    return services


def _narrowed(services: Selector, owner: LabelSelector | None) -> Selector:
    """Both selectors; the services' alone where the owner's is missing or does not parse."""
    try:
        owner_selector = label_selector(owner)
    except SelectorError:
        return services
    return combined(services, owner_selector) if owner_selector.selectable else services

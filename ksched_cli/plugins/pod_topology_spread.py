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
from itertools import repeat
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.node_affinity import RequiredNodeAffinity, required_node_affinity
from ksched_cli.cluster.objects import (
    LabelSelector,
    Node,
    Toleration,
    TopologySpreadConstraint,
    plain_fields,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import MISSING, Mask, Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import COMPARISON_GATE
from ksched_cli.cluster.topology.node_selection import matches_required
from ksched_cli.cluster.topology.pod_index import (
    Clause,
    Codes,
    DomainCounter,
    Domains,
    Namespaces,
    PodIndex,
    PodSelection,
    Tally,
    combined,
    selector_text,
)
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    PreFilterExtensions,
    Proposal,
    Proposes,
    Scope,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.int64 import MAX_INT64, divide
from ksched_cli.kube.selectors import (
    EVERYTHING,
    NOTHING,
    Selector,
    SelectorError,
    label_selector,
    selector_of_map,
)
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.args import PodTopologySpreadArgs
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    ScoringPlugin,
    clauses_by_row,
    had_node,
    pod_registrations,
)
from ksched_cli.plugins.taint_toleration import first_untolerated

# -- constraints -----------------------------------------------------------------------------------
#
# Parsed topology spread constraints, and the counters of pods that they are checked against.
#
# Upstream: plugins/podtopologyspread/common.go, and getConstraints in plugin.go.


MATCH_LABEL_KEYS = "MatchLabelKeysInPodTopologySpread"
HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"
ANY_NODE = RequiredNodeAffinity(EVERYTHING, None)


class Constraint(Struct, frozen=True):
    """honors_affinity, honors_taints: whether nodes that these exclude for the pod do not count."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def filter_constraints(
    constraints: Iterable[TopologySpreadConstraint],
    labels: Mapping[str, str],
    action: str,
    *,
    matches_keys: bool,
) -> tuple[Constraint, ...]:
    """Return the constraints whose whenUnsatisfiable is `action`. labels: the pod's; matches_keys:
    matchLabelKeys counts. Raises SelectorError.

    Upstream: filterTopologySpreadConstraints.
    """
    return tuple(
        Constraint(
            constraint.max_skew,
            constraint.topology_key,
            _selector(constraint, labels if matches_keys else {}),
            1 if constraint.min_domains is None else constraint.min_domains,
            constraint.node_affinity_policy in (None, HONOR),
            constraint.node_taints_policy == HONOR,
        )
        for constraint in constraints
        if constraint.when_unsatisfiable == action
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    selector = label_selector(constraint.label_selector)
    return combined(selector_of_map(own), selector) if own and selector.selectable else selector


class CountedConstraint(Struct, frozen=True):
    """A constraint with its counter.

    node_domains: the domain of each node, whether it counts or not
    counter:      of the pods that match; its domains leave out nodes that do not count
    codes:        per row, the index into the counter's counts
    matches_self: whether the selector matches the pod itself
    """

    constraint: Constraint
    node_domains: Domains
    counter: DomainCounter
    codes: Codes
    matches_self: bool


class ConstraintCounters:
    """The counters of a pod's constraints.

    keys:     the labels that a node must have to count
    compares: tolerations may compare numbers (see `tolerates`)
    empty_spreads: see Rules.empty_selector_spreads
    """

    def __init__(
        self,
        index: PodIndex,
        pod: PodInfo,
        keys: Sequence[str],
        *,
        compares: bool = False,
        empty_spreads: bool = False,
    ) -> None:
        self._index = index
        self._pod = pod
        self._keys = frozenset(keys)
        self._compares = compares
        self._empty_spreads = empty_spreads

    def by_domain(self, constraint: Constraint) -> CountedConstraint:
        """Return the matching pods per domain, on the nodes that count."""
        key, spec = constraint.topology_key, self._pod.spec
        node_domains = self._index.domains(key)
        affinity = required_node_affinity(spec) if constraint.honors_affinity else ANY_NODE
        tolerations = spec.tolerations if constraint.honors_taints else None
        others = self._keys - {key}
        all_nodes = node_domains if self._keys else domains_with_empty(self._index, key)
        counting = all_nodes
        if affinity != ANY_NODE or tolerations is not None or others:
            # Pods with different specs may leave the same nodes.
            cache_key = (key, self._keys, affinity, tolerations)
            counting = self._index.once(
                cache_key,
                lambda: all_nodes.where(self._counted_rows(others, affinity, tolerations)),
            )
        return self._counted(constraint, counting, node_domains.codes)

    def by_node(self, constraint: Constraint) -> CountedConstraint:
        """Count the matching pods per node, on all nodes: each row is a domain."""
        snapshot = self._index.snapshot
        rows = self._index.once(
            "nodes", lambda: Domains(HOSTNAME, snapshot.names, np.arange(len(snapshot)))
        )
        return self._counted(constraint, rows, rows.codes)

    def _counted(self, constraint: Constraint, domains: Domains, codes: Codes) -> CountedConstraint:
        pod, selector = self._pod, constraint.selector
        # Up to 1.37, upstream counts no pods for a selector without requirements.
        is_counted = bool(selector.requirements) or (self._empty_spreads and selector.selectable)
        counted_selector = selector if is_counted else NOTHING
        clause = Clause(Namespaces(frozenset((pod.namespace,))), counted_selector)
        return CountedConstraint(
            constraint,
            self._index.domains(constraint.topology_key),
            self._index.counter(PodSelection((clause,), terminating=False), domains),
            codes,
            selector.matches(pod.labels),
        )

    def _counted_rows(
        self,
        keys: Iterable[str],
        affinity: RequiredNodeAffinity,
        tolerations: tuple[Toleration, ...] | None,
    ) -> Mask:
        """Return the nodes that have the keys, match the affinity and have no untolerated taint."""
        snapshot = self._index.snapshot
        mask = matches_required(snapshot, affinity)
        for key in keys:
            mask &= snapshot.labels[key].present
        if tolerations is not None:
            ids, sets = snapshot.taint_sets
            taints = [first_untolerated(each, tolerations, self._compares) for each in sets]
            mask &= np.array([taint is None for taint in taints], dtype=np.bool_)[ids]
        return mask


def domains_with_empty(index: PodIndex, key: str) -> Domains:
    """Return the domains where nodes need not have the key: those without it are in the domain "".

    Upstream reads the missing label as an empty string.
    """
    domains = index.domains(key)
    if domains.complete or "" not in domains.values:
        return domains
    empty = domains.values.index("")
    codes: Codes = np.where(domains.codes == MISSING, empty, domains.codes)
    return index.once(("domains with empty", key), lambda: Domains(key, domains.values, codes))


# -- the plugin ------------------------------------------------------------------------------------


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
        """Return the same for nodes that an extender returned: with their labels, and 0 pods per
        hostname, because upstream counts those on the returned nodes, which have no pods."""
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
            eligible = _having_all(node_domains)
        return SoftConstraints(
            tuple(constraints), tuple(node_domains), eligible, self.require_all_topologies
        )


class PreScoreState(Struct, frozen=True):
    """weights: per constraint, of one matching pod; grows with the number of domains."""

    soft: SoftConstraints
    weights: tuple[float, ...]


class PodTopologySpread(FilteringPlugin, PreFilterExtensions, ScoringPlugin, Proposes):
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
        self._matches_keys = handle.release.enabled(MATCH_LABEL_KEYS)

    def scope_for(self, pod: PodInfo) -> Scope:
        """Return NODE for a pod without constraints, which does not depend on other pods, and else
        CLUSTER."""
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
        counters = self._counters(pod, keys)
        return tuple(map(counters.by_domain, constraints))

    def _counters(self, pod: PodInfo, keys: Sequence[str]) -> ConstraintCounters:
        empty_spreads = self._rules.empty_selector_spreads
        return ConstraintCounters(
            self._index, pod, keys, compares=self._compares, empty_spreads=empty_spreads
        )

    def _soft_constraints(self, pod: PodInfo) -> SoftConstraints:
        constraints = self._constraints(pod, SOFT)
        if not constraints:
            return SoftConstraints()
        # Upstream: requireAllTopologies. The system defaults also count hosts without a zone.
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaulted
        keys = [constraint.topology_key for constraint in constraints]
        required_keys = keys if require_all else ()
        counters = self._counters(pod, required_keys)
        domains = [self._index.domains(key) for key in keys]
        return SoftConstraints(
            tuple(
                counters.by_node(constraint)
                if constraint.topology_key == HOSTNAME
                else counters.by_domain(constraint)
                for constraint in constraints
            ),
            tuple(domains_with_empty(self._index, key) for key in keys),
            # Where every node has them, no mask is needed.
            _having_all(domains) if require_all and not all(d.complete for d in domains) else None,
            require_all,
        )

    def _constraints(self, pod: PodInfo, action: str) -> tuple[Constraint, ...]:
        """Return the pod's own constraints or the default ones. Raises PluginError."""
        own = pod.spec.topology_spread_constraints
        action_text = "obtaining pod's" if own else "setting default"
        kind = "hard" if action == HARD else "soft"
        try:
            constraints = filter_constraints(
                own or self._defaults, pod.labels, action, matches_keys=self._matches_keys
            )
        except SelectorError as error:
            message = f"{action_text} {kind} topology spread constraints: {error}"
            raise PluginError(message) from None
        if own or not constraints:
            return constraints
        selector = default_selector(pod, self._cluster)
        if not selector.requirements:
            return ()
        return tuple(replace(constraint, selector=selector) for constraint in constraints)

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        try:
            constraints = self._index.derived(self._hard_constraints, pod)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from None
        if not constraints:
            return None, SKIP
        counters = (counted.counter for counted in constraints)
        tallies = tuple(Tally.of((counter,), counter.domains) for counter in counters)
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
        if filter_state is None:
            return True
        selectors = (counted.constraint.selector for counted in filter_state.constraints)
        is_near = other.namespace == pod.namespace
        return is_near and any(selector.matches(other.labels) for selector in selectors)

    def _update_with_pod(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        """Count the other pod in the state of PreFilter. number: 1 where it is added, -1 where it
        is removed"""
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
                is_missing = nodes.gather(counted.node_domains.codes) == MISSING
                verdicts.reject(is_missing, NODE_LABEL_NOT_MATCH)
            max_count = _max_count(counted, tally)
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
        weights = []
        for domains in soft.node_domains:
            size = len(rows)
            if domains.key != HOSTNAME:
                # The distinct domains of these nodes; MISSING counts as one.
                seen = np.zeros(len(domains.values) + 1, dtype=np.bool_)
                seen[domains.codes[rows]] = True
                size = int(np.count_nonzero(seen))
            weights.append(math.log(size + 2))
        state.write(PRE_SCORE_KEY, PreScoreState(soft, tuple(weights)))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Return the weighted number of pods in the node's domains; fewer is better."""
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
        # As Go's math.Round does, round half away from zero.
        whole = np.trunc(sums)
        whole += np.where(np.abs(sums - whole) >= 0.5, np.sign(sums), 0)
        return whole.astype(np.int64)

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

    def shortages(self, state: CycleState, pod: PodInfo, rows: Rows) -> list[str]:
        """Return per row which constraints reject it, in words that follow "would take it but for";
        "" where none does."""
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        clauses = []
        for counted, tally in zip(filter_state.constraints, filter_state.tallies, strict=True):
            text, codes = f"over {counted.node_domains.key}", counted.node_domains.codes[rows]
            skewed = tally.at(counted.node_domains, rows) > _max_count(counted, tally)
            clauses.append((codes == MISSING, f"{text}, a label that is not there"))
            clauses.append((skewed & (codes != MISSING), text))
        return clauses_by_row(len(rows), "its topology spread constraints", clauses)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        pairs = zip(filter_state.constraints, filter_state.tallies, strict=True)
        lines = (filter_line(each, tally, node) for each, tally in pairs)
        return [line for line in lines if line]

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        filter_state: PreFilterState = state.read(PRE_FILTER_KEY)
        own = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == HARD]
        if len(own) != len(filter_state.constraints):
            return  # the profile's default constraints
        skews: dict[int, int] = {}
        pairs = zip(filter_state.constraints, filter_state.tallies, strict=True)
        for index, (counted, tally) in enumerate(pairs):
            code = counted.node_domains.codes.item(node.row)
            if code == MISSING:
                skews[index] = 0
                continue
            count = int(tally.current()[code]) + counted.matches_self
            skew = count - _global_minimum(counted, tally)
            if skew > counted.constraint.max_skew:
                skews[index] = skew
        _, taint_sets = node.snapshot.taint_sets
        tolerations, compares = pod.spec.tolerations, self._compares
        is_barred = any(first_untolerated(t, tolerations, compares) for t in taint_sets)
        yield from proposals(pod.spec.topology_spread_constraints, own, skews, is_barred)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        score_state = _pre_score_state(state)
        soft = score_state.soft
        if soft.eligible is not None and not soft.eligible[node.row]:
            return ["the node lacks a label of the spread constraints: it gets the lowest score"]
        lines = map(score_line, soft.constraints, score_state.weights, repeat(node))
        return [line for line in lines if line]


def _having_all(all_domains: Iterable[Domains]) -> Mask:
    """Return the nodes that are in some domain of each."""
    return np.logical_and.reduce([domains.codes != MISSING for domains in all_domains])


def _global_minimum(counted: CountedConstraint, tally: Tally) -> int:
    """Return the fewest matching pods in a domain; 0 with fewer domains than minDomains
    (minMatchNum)."""
    if len(tally.domains.present) < counted.constraint.min_domains:
        return 0
    return tally.domains.least(tally.current())


def _max_count(counted: CountedConstraint, tally: Tally) -> int:
    """Return how many matching pods a domain has at most that the pod may still go to."""
    minimum = _global_minimum(counted, tally)
    return counted.constraint.max_skew + minimum - counted.matches_self


def _pre_score_state(state: CycleState) -> PreScoreState:
    return state.read(PRE_SCORE_KEY, "error reading")


# Gives the pod's constraints that a node must not violate; a plugin error means: ask again.
ConstraintsOf = Callable[[PodInfo], Sequence[Constraint]]
Labels = Mapping[str, str]


def registrations(constraints_of: ConstraintsOf, rules: Rules) -> Iterable[Registration]:
    """Yield the events that may let a pod be where its constraints want it."""
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
    """Return whether a pod that the constraints count comes, goes, or counts differently than
    before."""
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
    """Return whether a node that counts comes or goes, begins or ceases to count, or changes its
    domain or its taints."""
    constraints = constraints_of(pod)
    had_keys = old is not None and _has_keys(old.metadata.labels, constraints)
    has_keys = new is not None and _has_keys(new.metadata.labels, constraints)
    if old is None or new is None or had_keys != has_keys:
        return had_keys or has_keys
    keys = [constraint.topology_key for constraint in constraints]
    before, after = old.metadata.labels, new.metadata.labels
    has_moved = any(before.get(key) != after.get(key) for key in keys)
    return has_keys and (has_moved or old.spec.taints != new.spec.taints)


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
    args: PodTopologySpreadArgs,
) -> tuple[TopologySpreadConstraint, ...]:
    """Return the constraints of pods that have none. Validation rejects label selectors in them."""
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
    """Combine both selectors. The services' is returned alone where the owner's is missing or does
    not parse."""
    try:
        owner_selector = label_selector(owner)
    except SelectorError:
        return services
    return combined(services, owner_selector) if owner_selector.selectable else services


# -- explain ---------------------------------------------------------------------------------------
#
# The domains and counts behind PodTopologySpread's verdicts and scores of a node.


MOST_DOMAINS = 8


def filter_line(counted: CountedConstraint, tally: Tally, node: NodeInfo) -> str:
    """Return why the node does not meet the constraint, or "" where it does."""
    global_minimum = _global_minimum(counted, tally)
    constraint, key = counted.constraint, counted.constraint.topology_key
    code = counted.node_domains.codes.item(node.row)
    if code == MISSING:
        return f"the node has no label {key}"
    counts = tally.current()
    count = int(counts[code])
    if count + counted.matches_self - global_minimum <= constraint.max_skew:
        return ""
    value, domains = counted.node_domains.values[code], tally.domains
    line = f"{key} {value} has {pods_text(count, constraint.selector)}"
    line += f", {count + 1} with this one" if counted.matches_self else ""
    if len(domains.present) < constraint.min_domains:
        present = f"{len(domains.present)} domains of at least {constraint.min_domains}"
        line += f"; with {present} the fewest counts as 0"
    else:
        fewest = domains.present[np.argmin(counts[domains.present])]
        line += f"; {domains.values[fewest]} has {global_minimum}"
    # The domains that count, those with the fewest pods first; the range where there are many.
    counts = counts[domains.present]
    values = [domains.values[code] for code in domains.present.tolist()]
    ranked = sorted(zip(counts.tolist(), values, strict=True))
    text = ", ".join(f"{name} {number}" for number, name in ranked) or "none"
    if len(counts) > MOST_DOMAINS:
        text = f"{len(counts)} domains, {counts.min()} to {counts.max()} each"
    return f"{line}; max skew {constraint.max_skew}. All: {text}"


def pods_text(count: int, selector: Selector) -> str:
    return f"{count} pod{'' if count == 1 else 's'} with {selector_text(selector)}"


def score_line(counted: CountedConstraint, weight: float, node: NodeInfo) -> str:
    """Return what a constraint adds to the node's raw score; "" where the node lacks the label."""
    code = counted.node_domains.codes.item(node.row)
    if code == MISSING:
        return ""
    count = int(counted.counter.counts[counted.codes.item(node.row)])
    skew = counted.constraint.max_skew - 1
    value = f"{counted.constraint.topology_key} {counted.node_domains.values[code]}"
    line = f"{value} has {pods_text(count, counted.constraint.selector)}"
    return f"{line}: {count} x {weight:.3f} + {skew}, fewer is better"


# -- proposals -------------------------------------------------------------------------------------
#
# Changes that would make a node meet spread constraints: a larger maxSkew, or a soft
# constraint.


# More than any maxSkew: a constraint that is soft bounds nothing.
SOFT_AMOUNT = 1_000


def proposals(
    constraints: Sequence[TopologySpreadConstraint],
    hard: Sequence[TopologySpreadConstraint],
    skews: Mapping[int, int],
    is_barred: bool,
) -> Iterator[Proposal]:
    """Yield proposals of changes of the constraints with which the node fits.

    constraints: of the pod
    hard: those that decide
    skews: by index into these, the least maxSkew with which the node meets it; 0 where the node
        lacks the label
    is_barred: taints keep the pod off some nodes
    """
    violated = [(hard[index], skew) for index, skew in skews.items()]
    if all(skews.values()):
        excess = sum(skew - each.max_skew for each, skew in violated)
        yield _spread(
            constraints, {id(each): {"max_skew": skew} for each, skew in violated}, excess
        )
    ignoring = [each for each, _ in violated if each.node_taints_policy != HONOR]
    if is_barred and ignoring:
        # The nodes that the pod does not tolerate no longer count as domains without pods.
        yield _spread(
            constraints, {id(each): {"node_taints_policy": HONOR} for each in ignoring}, 0
        )
    many = [each for each, _ in violated if (each.min_domains or 1) > 1]
    if many:
        yield _spread(constraints, {id(each): {"min_domains": None} for each in many}, len(many))
    # minDomains is of hard constraints alone.
    fields = {"when_unsatisfiable": SOFT, "min_domains": None}
    yield _spread(constraints, {id(each): fields for each, _ in violated}, SOFT_AMOUNT)


def _spread(
    constraints: Sequence[TopologySpreadConstraint],
    fields: Mapping[int, Mapping[str, Any]],
    amount: int,
) -> Proposal:
    """Return the constraints with these fields, by identity."""
    changed = [replace(each, **fields.get(id(each), {})) for each in constraints]
    plain = [plain_fields(each) for each in changed]
    patch = {"spec": {"topologySpreadConstraints": [{"$patch": "replace"}, *plain]}}
    return Proposal("spread", spread_text(constraints, changed), patch=patch, amount=amount)


def spread_text(
    before: Sequence[TopologySpreadConstraint], after: Sequence[TopologySpreadConstraint]
) -> str:
    """Return what to do so that the constraints become the others, one by one."""
    texts = []
    for first, second in zip(before, after, strict=True):
        key = first.topology_key
        if second.when_unsatisfiable != first.when_unsatisfiable:
            texts.append(f"let the spread over {key} be {SOFT}")
            continue
        if second.max_skew != first.max_skew:
            skews = f"from {first.max_skew} to {second.max_skew}"
            texts.append(f"raise the maxSkew over {key} {skews}")
        if second.min_domains != first.min_domains:
            texts.append(f"require no minDomains over {key} (now {first.min_domains})")
        if second.node_taints_policy != first.node_taints_policy:
            texts.append(f"set nodeTaintsPolicy: Honor for the spread over {key}")
    return " and ".join(texts)

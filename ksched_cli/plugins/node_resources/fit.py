"""Rejects nodes without room for the pod; ranks the others by one of three strategies.

Upstream: plugins/noderesources/fit.go (also isSchedulableAfterPodEvent,
isSchedulableAfterNodeChange), resource_allocation.go (scorePlacement).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from ksched_cli.cluster.objects import DeviceClass, Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import NATIVE, PODS, node_allocatable
from ksched_cli.cluster.snapshot import Column, Floats, Rows, Snapshot
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import (
    ComparesResources,
    JudgesResizes,
    RowScorer,
)
from ksched_cli.framework.interface import PlacementScorePlugin, PreFilterPlugin, Proposal, Proposes
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.pod_groups import GroupKey, Placement
from ksched_cli.framework.resource_claims import IMPLICIT_PREFIX
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status
from ksched_cli.kube.field_errors import is_extended_resource_name
from ksched_cli.kube.gates import RESIZE_GATE
from ksched_cli.kube.quantity import amount_texts, rounded_down
from ksched_cli.plugins.args import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from ksched_cli.plugins.helper import PreFiltered, eviction, had_node, may_make_room, named
from ksched_cli.plugins.lower_requests import lower_request, written_request
from ksched_cli.plugins.node_resources.scoring import (
    LEAST,
    MOST,
    ScoredRequests,
    ScoresResources,
    calculate_pod_requests,
    is_counted,
    mean_by_row,
    plain_column,
    principal_amounts,
    requested_to_capacity_ratio,
    used_column,
    weighted_mean,
)

PRE_FILTER_KEY = "PreFilterNodeResourcesFit"
LEAST_ALLOCATED = "LeastAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"

# Below this many insufficient resources, there are fewer sets of them than it costs to sort.
MANY_RESOURCES = 8

# Upstream: InsufficientResource. Reason, the nodes where it is insufficient, and those where it
# would be even without pods.
InsufficientResource: TypeAlias = tuple[str, Mask, Mask | None]


class NodeResourcesFit(
    PreFilterPlugin,
    ComparesResources,
    ScoresResources,
    PlacementScorePlugin,
    JudgesResizes,
    Proposes,
):
    name = "NodeResourcesFit"
    nonzero = True
    state_key = "PreScoreNodeResourcesFit"

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._delegates = handle.release.enabled("DRAExtendedResource")
        self._hears_of_growth = handle.release.enabled(RESIZE_GATE)
        strategy = args.scoring_strategy or ScoringStrategy()
        self._ignored = frozenset(args.ignored_resources or ())
        self._ignored_groups = frozenset(args.ignored_resource_groups or ())
        self._resources = strategy.resources or ()
        self._weights = [spec.weight for spec in self._resources]
        self._strategy = LEAST if strategy.type == LEAST_ALLOCATED else MOST
        rules = handle.release.rules
        self._scores_pod_requests = rules.scores_pod_requests
        self._leaves_nominated = rules.leaves_nominated_nodes
        self._node_of = handle.nominator.node_of
        self._score = self._strategy.exact if rules.saturates_sums else self._strategy.columns
        self._shape_score = None
        ratio = strategy.requested_to_capacity_ratio
        if strategy.type == REQUESTED_TO_CAPACITY_RATIO and ratio is not None:
            self._shape_score = requested_to_capacity_ratio(
                ratio.shape or (), exact=rules.saturates_sums
            )

    def events_to_register(self) -> Iterable[Registration]:
        pod_actions = Action.DELETE | Action.UPDATE_POD_SCALE_DOWN
        yield ClusterEvent(events.POD, pod_actions), after_pod_change
        node_actions = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE
        after_change: Callable[[PodInfo, Node | None, Node], bool]
        after_change = partial(after_node_change, self.delegated)
        if self._leaves_nominated:
            after_change = partial(after_nominated_change, self.delegated, self._node_of)
        yield ClusterEvent(events.NODE, node_actions), after_change
        if self._hears_of_growth:
            yield ClusterEvent(events.ASSIGNED_POD, Action.UPDATE_POD_SCALE_UP), after_growth
            yield ClusterEvent(events.TARGET_POD, Action.UPDATE_POD_SCALE_UP), after_growth
        if self._delegates:
            yield ClusterEvent(events.DEVICE_CLASS, Action.ADD | Action.UPDATE), after_class_change

    def delegated(self, pod: PodInfo) -> Collection[str]:
        """Return the requested resources that a device class backs, where a node has none of
        them."""
        return ()

    def cache_key(self, pod: PodInfo) -> Hashable | None:
        """Return all that the plugin reads of a pod; None for a resized one, as what it has on its
        node already counts for no other."""
        return None if pod.is_resized else super().cache_key(pod)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        state.write(PRE_FILTER_KEY, MappingProxyType(_requests_on_node(pod)))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        snapshot, row = node.snapshot, node.row
        # Huge amounts overflow as in Go only in the array form, which also says what is short.
        if not (snapshot.huge or pod.is_resized) and PRE_FILTER_KEY in state.data:
            requested_cpu, requested_memory = pod.resources.principal
            (amounts,) = snapshot.rows_amounts((row,))
            used_cpu, used_memory, pods, _, _, cpu, memory, most_pods = amounts
            if (
                cpu - used_cpu >= requested_cpu
                and memory - used_memory >= requested_memory
                and pods < most_pods
                and all(
                    node.allocatable(resource) - node.requested(resource) >= amount
                    for resource, amount in pod.resources.others.items()
                )
            ):
                return SUCCESS
        verdicts = self.filter_nodes(state, pod, Nodes.of(node))
        return verdicts.statuses[verdicts.ids.item(0)]

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        requested: Mapping[str, int] = state.read(PRE_FILTER_KEY, "error reading")
        snapshot = nodes.snapshot
        full = nodes.gather(snapshot.pod_count) >= nodes.gather(snapshot.allocatable(PODS))
        insufficient: list[InsufficientResource] = [("Too many pods", full, None)]
        for resource, amount in sorted(requested.items()):
            if amount <= 0 or self.ignores(resource):
                continue
            capacity = nodes.gather(snapshot.allocatable(resource))
            free = capacity - self.used(pod, nodes, resource)
            if not pod.is_resized:
                is_short, never_fits = amount > free, amount > capacity
            else:
                # A pod that is to be resized has on its node what it counts for there. Upstream:
                # adjustDeltasToAccomodateCacheDiscrepancy.
                missing = np.full(len(nodes), amount, dtype=np.int64)
                own = nodes.indices() == nodes.snapshot.row.get(pod.pod.node_name, -1)
                for position in own.nonzero()[0].tolist():
                    for other in nodes.snapshot.pods[nodes.indices()[position]]:
                        if other.uid == pod.uid:
                            missing[position] = max(
                                0, amount - other.resources.requests.get(resource, 0)
                            )
                is_short, never_fits = missing > free, amount > capacity
                # Upstream does not compare what is not missing, but for what every node has.
                if resource not in NATIVE:
                    is_short, never_fits = is_short & (missing > 0), missing > capacity
            insufficient.append((f"Insufficient {resource}", is_short, never_fits))
        return _verdicts(insufficient, len(nodes))

    def used(self, pod: PodInfo, nodes: Nodes, resource: str) -> Column:
        """Return per node, how much of the resource its pods request."""
        return nodes.gather(nodes.snapshot.requested(resource))

    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        if self._snapshot.huge or pod.is_resized or PRE_FILTER_KEY not in state.data:
            return None
        return {
            name: amount
            for name, amount in pod.resources.requests.items()
            if amount > 0 and not self.ignores(name)
        }

    def ignores(self, resource: str) -> bool:
        """Return whether nodes may lack the resource, as the args say."""
        return is_extended_resource_name(resource) and (
            resource in self._ignored or resource.split("/")[0] in self._ignored_groups
        )

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        state.write(self.state_key, calculate_pod_requests(self._resources, self._scored(pod)))
        return SUCCESS

    def _scored(self, pod: PodInfo) -> Mapping[str, int]:
        resources = pod.resources
        return resources.whole_scoring if self._scores_pod_requests else resources.scoring

    def row_scorer(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> RowScorer | None:
        pod_requests: ScoredRequests | None = state.data.get(self.state_key)
        if pod_requests is None or self._shape_score is not None:
            return None
        if plain_column(pod_requests, snapshot) is None:
            return None
        return mean_by_row(self._strategy, pod_requests.by_resource, self._weights)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        pod_requests = self._requests_to_score(state, pod)
        if not self._resources:
            raise PluginError("resources not found")
        column = plain_column(pod_requests, nodes.snapshot)
        if column is not None and self._shape_score is None:
            return self._plain_scores(column, nodes)
        usages = self._usages(pod_requests.by_resource, nodes)
        score = self._shape_score or self._score
        return weighted_mean(usages, self._weights, score, skip_zero=self._shape_score is not None)

    def _plain_scores(self, column: Floats, nodes: Nodes) -> Scores:
        """Return the scores by cpu and memory. column: see ScoredRequests"""
        if nodes.are_most:
            return nodes.gather(self._plain_scores(column, Nodes(nodes.snapshot)))
        requested, capacity = principal_amounts(column, nodes, nonzero=True)
        # 0 to 100 each: narrow integers are added and divided faster.
        cpu, memory = self._strategy.floats(requested, capacity).astype(np.int32)
        cpu_weight, memory_weight = self._weights
        if cpu_weight == memory_weight:
            cpu += memory
            cpu >>= 1
        else:
            cpu *= cpu_weight
            memory *= memory_weight
            cpu += memory
            cpu //= cpu_weight + memory_weight
        return cpu.astype(np.int64)

    def score_placement(self, key: GroupKey, placement: Placement, pods: Sequence[PodInfo]) -> int:
        amounts = [self._scored(pod) for pod in pods]
        return placement_score(self._resources, self._snapshot, placement.rows, amounts)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = []
        if len(node.pods) + 1 > node.allocatable("pods"):
            lines.append(f"pods: {len(node.pods)} of {node.allocatable('pods')} are there")
        for resource, amount in sorted(pod.resources.requests.items()):
            capacity, used = node.allocatable(resource), node.requested(resource)
            if amount > 0 and not self.ignores(resource) and amount > capacity - used:
                amounts = (amount, capacity - used, capacity)
                written = written_request(pod, resource)
                requested_text, free_text, all_text = amount_texts(resource, amounts, written)
                lines.append(f"{resource}: wants {requested_text}, {free_text} free of {all_text}")
        return lines

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        from ksched_cli.plugins.node_resources.fit import proposals

        return proposals(pod, node, self.ignores)


def _verdicts(insufficient: list[InsufficientResource], count: int) -> Verdicts:
    """Return one status per set of insufficient resources; it is unresolvable where an empty node
    lacks one."""
    insufficient = [resource for resource in insufficient if resource[1].any()]
    if not insufficient:
        return Verdicts.passing(count)
    # Bit 0: unresolvable; from bit 1: the insufficient resources, in order.
    dtype = np.int64 if len(insufficient) < 62 else object
    marks = np.zeros(count, dtype=dtype)
    for bit, (_, is_short, unresolvable) in enumerate(insufficient, start=1):
        marks |= is_short.astype(dtype) << bit
        if unresolvable is not None:
            marks |= (is_short & unresolvable).astype(dtype)
    if len(insufficient) < MANY_RESOURCES:
        # As below, without sorting the marks.
        is_there = np.bincount(marks) > 0
        is_there[0] = True
        kinds, ids = is_there.nonzero()[0], (is_there.cumsum() - 1)[marks]
    else:
        kinds, ids = np.unique(marks, return_inverse=True)
        if kinds[0] != 0:
            kinds, ids = np.concatenate(([0], kinds)), ids + 1
    statuses = [SUCCESS]
    for mark in kinds[1:]:
        bits = enumerate(insufficient, start=1)
        reasons = [resource[0] for bit, resource in bits if int(mark) >> bit & 1]
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if int(mark) & 1 else Code.UNSCHEDULABLE
        statuses.append(Status(code, tuple(reasons)))
    return Verdicts(ids.astype(np.int32), statuses)


def placement_score(
    resources: Sequence[ResourceSpec],
    snapshot: Snapshot,
    rows: Rows,
    pods: Sequence[Mapping[str, int]],
) -> int:
    """Return the score of a placement by its use of the resources.

    pods: the amounts of those of the group that have a node among the rows, besides the existing
        pods
    """
    by_pod = [calculate_pod_requests(resources, amounts).by_resource for amounts in pods]
    points = weights = 0
    for index, spec in enumerate(resources):
        requested = sum(requests[index] for requests in by_pod)
        allocatable = snapshot.allocatable(spec.name)[rows]
        if not is_counted(spec.name, requested) or not allocatable.any():
            continue
        used = used_column(snapshot, spec.name, nonzero=True)[rows]
        requested += int(used[allocatable != 0].sum())
        points += MOST.number(requested, int(allocatable.sum())) * spec.weight
        weights += spec.weight
    return points // weights if weights else 0


def after_pod_change(pod: PodInfo, old: PodInfo, new: PodInfo | None) -> bool:
    """Return whether a pod with a node is gone, or requests less of what the pod requests; or
    whether the pod itself, which has no node, requests less."""
    if new is None:
        return had_node(old) and not _is_elsewhere(pod, old.pod.node_name)
    if not new.pod.node_name:
        return new.key == pod.key
    if _is_elsewhere(pod, new.pod.node_name):
        return False
    return _has_more(pod, new.resources.requests, old.resources.requests)


def after_growth(pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
    """Return whether a pod on the node where the pod is to be resized requests more, so that
    preemption may have to make more room."""
    return pod.is_resized and not _is_elsewhere(pod, new.pod.node_name)


def _is_elsewhere(pod: PodInfo, node: str) -> bool:
    """Return whether the pod is to be resized, and not on the node."""
    return pod.is_resized and pod.pod.node_name != node


def _requests_on_node(pod: PodInfo) -> Mapping[str, int]:
    """Return what the pod requests of a node."""
    resources = pod.resources.unplaced if pod.is_resized else None
    return (resources or pod.resources).requests


def after_nominated_change(
    delegated_of: Callable[[PodInfo], Collection[str]],
    node_of: Callable[[PodInfo], str],
    pod: PodInfo,
    old: Node | None,
    new: Node,
) -> bool:
    """Return what after_node_change returns, and True for the pod's nominated node if, empty, it no
    longer has the cpu, memory or ephemeral storage for the pod."""
    if after_node_change(delegated_of, pod, old, new):
        return True
    if old is None or pod.spec.scheduling_group is not None or node_of(pod) != new.name:
        return False
    before, allocatable = node_allocatable(old), node_allocatable(new)
    requested = _requests_on_node(pod)
    if all(requested.get(name, 0) <= allocatable.get(name, 0) for name in NATIVE):
        return False
    # The node before, empty, must have had enough for the pod; devices may have what is delegated.
    delegated = delegated_of(pod)
    is_lacking = any(
        amount > before.get(name, 0) and not (name in delegated and not before.get(name))
        for name, amount in requested.items()
    )
    return before.get(PODS, 0) >= 1 and not is_lacking


def after_node_change(
    delegated_of: Callable[[PodInfo], Collection[str]], pod: PodInfo, old: Node | None, new: Node
) -> bool:
    """Return whether the node, if it were empty, has room for the pod, and more than before, or
    whether devices may have it."""
    if _is_elsewhere(pod, new.name):
        return False
    allocatable = node_allocatable(new)
    delegated = delegated_of(pod)
    lacking = {
        name for name, amount in _requests_on_node(pod).items() if amount > allocatable.get(name, 0)
    }
    by_devices = {name for name in lacking if name in delegated and not allocatable.get(name)}
    if allocatable.get(PODS, 0) < 1 or lacking - by_devices:
        return False
    if old is None or by_devices:
        return True
    before = node_allocatable(old)
    return allocatable.get(PODS, 0) > before.get(PODS, 0) or _has_more(pod, before, allocatable)


def after_class_change(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> bool:
    """Return whether the class begins to back a resource that the pod requests."""
    resource, requests = new.spec.extended_resource_name, pod.resources.requests
    if old is None and IMPLICIT_PREFIX + new.name in requests:
        return True
    is_same = old is not None and (old.spec.extended_resource_name or "") == (resource or "")
    return not is_same and resource in requests


def _has_more(pod: PodInfo, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Return whether there is more of something that the pod requests."""
    requested = (name for name, amount in pod.resources.requests.items() if amount > 0)
    return any(after.get(name, 0) > before.get(name, 0) for name in requested)


# -- proposals -------------------------------------------------------------------------------------
#
# Changes that would make a node without room for a pod fit: a smaller request, and evictions
# there.


# With up to this many pods, every pair is looked at.
MAX_PAIRED = 60

Amounts = Mapping[str, int]


def proposals(
    pod: PodInfo, node: NodeInfo, is_ignored: Callable[[str], bool]
) -> Iterator[Proposal]:
    """Yield proposals of evictions or lower requests with which the node fits.

    is_ignored: returns whether the plugin does not look at a resource
    """
    free = {
        resource: node.allocatable(resource) - node.requested(resource)
        for resource, amount in pod.resources.requests.items()
        if amount > 0 and not is_ignored(resource)
    }
    short = {name: room for name, room in free.items() if room < pod.resources.requests[name]}
    lacks_place = len(node.pods) >= node.allocatable(PODS)
    # No pod runs with less than a hundredth of what it requests.
    is_likely = all(0 < pod.resources.requests[name] <= 100 * room for name, room in short.items())
    if short and not lacks_place and is_likely:
        limits = {name: rounded_down(name, room) for name, room in short.items()}
        lower = lower_request(pod, limits, f", which {node.name} has free")
        if lower is not None:
            yield lower
    missing = {name: pod.resources.requests[name] - room for name, room in short.items()}
    if lacks_place:
        missing[PODS] = len(node.pods) + 1 - node.allocatable(PODS)
    victims = fewest_victims(pod, node.pods, missing)
    if victims:
        yield eviction(f"evict {named(victims)} from {node.name}", victims)


# -- evicting -------------------------------------------------------------------------------------


def fewest_victims(pod: PodInfo, pods: Iterable[PodInfo], missing: Amounts) -> tuple[PodInfo, ...]:
    """Return the fewest pods whose leaving gives the pod what is missing, of these the ones that
    request the least; () where no pods do. Beyond two, the first that are found."""
    others = [other for other in pods if may_make_room(other, pod)]

    def given(victims: Sequence[PodInfo], resource: str) -> int:
        if resource == PODS:
            return len(victims)
        return sum(victim.resources.requests.get(resource, 0) for victim in victims)

    def gives(victims: Sequence[PodInfo]) -> bool:
        return all(given(victims, name) >= amount for name, amount in missing.items())

    def size(victims: Sequence[PodInfo]) -> float:
        return sum(given(victims, name) / amount for name, amount in missing.items())

    for count in (1, 2) if len(others) <= MAX_PAIRED else (1,):
        groups = [group for group in combinations(others, count) if gives(group)]
        if groups:
            return min(groups, key=size)
    if not gives(others):
        return ()
    victims = sorted(others, key=lambda other: size((other,)))
    # The smallest stay, as long as the others give enough.
    for other in tuple(victims):
        rest = [victim for victim in victims if victim is not other]
        if gives(rest):
            victims = rest
    return tuple(victims)

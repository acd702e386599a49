"""The questions of a preemption policy: may the pod preempt, would it fit without some pods, and
which PodDisruptionBudgets would these evictions violate, one after the other?

Upstream: plugins/defaultpreemption/default_preemption.go (PodEligibleToPreemptOthers,
SelectVictimsOnNode, filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import PodDisruptionBudget
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.framework.victim_order import Ages, pick_one_node, sort_by_importance
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector


class Budget(Struct, frozen=True):
    """A PodDisruptionBudget that can match pods. disrupted: the names in its disruptedPods."""

    key: str
    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def matches(self, pod: PodInfo) -> bool:
        return self.namespace == pod.namespace and self.selector.matches(pod.labels)


def budgets_of(
    objects: Iterable[PodDisruptionBudget], *, empty_protects: bool = False
) -> tuple[Budget, ...]:
    """Return the budgets, without those that match no pod: with an invalid selector, or an empty
    one.

    empty_protects: see Rules.empty_selector_protects
    """
    budgets = []
    for pdb in objects:
        try:
            selector = label_selector(pdb.spec.selector)
        except SelectorError:
            continue
        if selector.selectable and (selector.requirements or empty_protects):
            status = pdb.status
            disrupted = frozenset(status.disrupted_pods)
            budgets.append(
                Budget(pdb.key, pdb.namespace, selector, status.disruptions_allowed, disrupted)
            )
    return tuple(budgets)


class EvictionBudgets:
    """Decides which evictions violate budgets. Matching budgets are cached by pod signature.

    stops: see Rules.stops_at_violated_budget; upstream's order of budgets is a map's, ours is by
           name
    covers_bare: pods without labels too, see Rules.empty_selector_protects
    """

    def __init__(
        self, budgets: Sequence[Budget], *, stops: bool = False, covers_bare: bool = False
    ) -> None:
        self.budgets = sorted(budgets, key=lambda budget: budget.key) if stops else budgets
        self.stops = stops
        self._covers_bare = covers_bare
        self._matching: dict[int, tuple[Budget, ...]] = {}

    @classmethod
    def of(cls, handle: Handle) -> Self:
        """Return the budgets of the cluster, by the rules of the release."""
        rules, objects = handle.release.rules, handle.cluster.pod_disruption_budgets.values()
        protects = rules.empty_selector_protects
        budgets = budgets_of(objects, empty_protects=protects)
        return cls(budgets, stops=rules.stops_at_violated_budget, covers_bare=protects)

    def matching(self, pod: PodInfo) -> tuple[Budget, ...]:
        """Return the budgets that an eviction of the pod counts against."""
        budgets = self.of_signature(pod)
        return tuple(budget for budget in budgets if pod.name not in budget.disrupted)

    def of_signature(self, pod: PodInfo) -> tuple[Budget, ...]:
        """Return the budgets that match the pod, and all that look like it."""
        budgets = self._matching.get(pod.signature)
        if budgets is None:
            # Up to 1.37, upstream skips pods without labels, even where a selector matches them.
            is_covered = pod.labels or self._covers_bare
            budgets = tuple(b for b in self.budgets if is_covered and b.matches(pod))
            self._matching[pod.signature] = budgets
        return budgets

    def pdb_violated_by(self, pods: Sequence[PodInfo]) -> dict[str, tuple[str, ...]]:
        """Return, by UID, the pods whose eviction violates budgets, after the eviction of all pods
        before them, with the keys of these budgets."""
        if not self.budgets:
            return {}
        allowed = {budget.key: budget.allowed for budget in self.budgets}
        violated_by_uid = {}
        for pod in pods:
            violated = []
            for budget in self.matching(pod):
                allowed[budget.key] -= 1
                if allowed[budget.key] < 0:
                    violated.append(budget.key)
                    if self.stops:
                        break
            if violated:
                violated_by_uid[pod.uid] = tuple(violated)
        return violated_by_uid


NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_GROUP = "pod group for pod not found"
PLACED_AS_GROUP = "not eligible due to placement-based pod group scheduling limitation"
PREEMPTS_AS_GROUP = "not eligible due to workload aware preemption enabled"
DISRUPTION_TARGET = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"


class PreemptionTrial:
    """Tries evictions out, in post_filter, without evicting anything.

    Pods that are removed stay away from their nodes until they are added again. What comes and
    goes in a `with trial.branch():` block is taken back at its end. Each step costs as much as one
    call of Filter for one node: a search that puts pods back one by one need not begin anew.

    handle: of the plugin; state, pod, filtered: what post_filter was given
    """

    def __init__(
        self, handle: Handle, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> None:
        framework = handle.framework
        assert framework is not None, "set before any plugin is called"
        self._filtering = framework.filtering
        self._handle, self._pod, self._filtered = handle, pod, filtered
        self._budgets = handle.service(EvictionBudgets.of)
        self._fork, self._state = handle.snapshot.fork(()), state.clone()
        # By UID, the rows of pods that were asked about, and the pods that are away from theirs.
        self._rows: dict[str, int] = {}
        self._removed: dict[str, PodInfo] = {}
        # Why AddPod or RemovePod failed; by signature, whether it is called for a pod at all.
        self._failure: Status | None = None
        self._concerned: dict[int, bool] = {}

    @property
    def ineligible(self) -> str:
        """Return why the pod may not preempt, or "": its policy is Never, it is tried with its
        group, or victims on the node that it is nominated to are still leaving."""
        return ineligible(self._handle, self._pod, self._filtered)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes where evictions might help: those that a plugin rejected otherwise than
        for good."""
        names = self._handle.snapshot.names
        rows = self._filtered.rows_with(Code.UNSCHEDULABLE)
        return tuple(names[row] for row in rows.tolist())

    @property
    def state(self) -> CycleState:
        """Return the attempt's data as the pods that were removed and added have left it."""
        return self._state

    def pods(self, node: str) -> tuple[PodInfo, ...]:
        """Return the pods on a node, those that were removed left out, the most important one
        first: of the highest priority, of these the one that started first."""
        on_node = self._fork.pods[self._fork.row[node]]
        pods = list(on_node)
        self._rows |= dict.fromkeys((pod.uid for pod in pods), self._fork.row[node])
        sort_by_importance(pods, Ages.of(self._handle.release.rules), on_node)
        return tuple(pods)

    def lower(self, node: str) -> tuple[PodInfo, ...]:
        """Return those of `pods` whose priority is lower than that of the pod: kube-scheduler
        evicts no others, and puts them back in this order."""
        return tuple(pod for pod in self.pods(node) if pod.priority < self._pod.priority)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Take back in the end what was removed and added meanwhile."""
        state, removed, failure = self._state, self._removed, self._failure
        self._state, self._removed = state.clone(), dict(removed)
        try:
            with self._fork.trial():
                yield
        finally:
            self._state, self._removed, self._failure = state, removed, failure

    def remove(self, pod: PodInfo) -> None:
        """Remove a pod from its node, whatever its priority and wherever it is. Raises ValueError
        for one that is on none."""
        row = self._row_of(pod)
        self._fork.own(row)
        self._fork.remove(pod, row)
        self._removed[pod.uid] = pod
        self._tell(self._filtering.run_remove_pod, pod, row)

    def add(self, pod: PodInfo) -> None:
        """Put a pod that was removed back on its node. Raises ValueError for any other."""
        if self._removed.pop(pod.uid, None) is None:
            raise ValueError(f"the pod {pod.key} was not removed in this trial")
        row = self._rows[pod.uid]
        self._fork.add(pod, row)
        self._tell(self._filtering.run_add_pod, pod, row)

    def status(self, node: str, without: Iterable[PodInfo] = ()) -> Status:
        """Return Filter's status of a node as it is now, and beside the pods that are nominated to
        it. It is an error where AddPod or RemovePod failed.

        without: pods that are removed for this question only
        """
        pods = tuple(without)
        if pods:
            with self.branch():
                for pod in pods:
                    self.remove(pod)
                return self.status(node)
        if self._failure is not None:
            return self._failure
        nodes = Nodes(self._fork, np.array([self._fork.row[node]], dtype=np.intp))
        verdicts = self._filtering.run_with_nominated_pods(self._state, self._pod, nodes)
        return verdicts.statuses[verdicts.ids[0]] if verdicts.ids[0] else SUCCESS

    def violated_budgets(self, victims: Sequence[PodInfo]) -> Mapping[str, tuple[str, ...]]:
        """Return, by UID, the victims whose eviction violates budgets, after the eviction of all
        before them, with these budgets as NAMESPACE/NAME."""
        return self._budgets.pdb_violated_by(victims)

    def best(
        self,
        candidates: Mapping[str, Sequence[PodInfo]],
        key: Callable[[str, Sequence[PodInfo]], Any] | None = None,
    ) -> str:
        """Return the node whose victims cost least; of several, the first by name. Raises
        ValueError without candidates.

        candidates: node name → the victims there
        key: the cost of a node and its victims, the least is best. By default by kube-scheduler's
             criteria: fewest violated budgets, lowest priority of the most important victim, least
             sum of priorities, fewest victims, latest start of the most important victims
        """
        if not candidates:
            raise ValueError("there are no candidates to choose from")
        if key is not None:
            return min(sorted(candidates), key=lambda node: key(node, candidates[node]))
        snapshot, ages = self._handle.snapshot, Ages.of(self._handle.release.rules)
        listed: dict[str, Victims] = {}
        for node, victims in candidates.items():
            # Upstream asks the budgets about all pods that might leave, not only about those that
            # do: which evictions are too many depends on it.
            on_node = snapshot.pods[snapshot.row[node]]
            lower = [pod for pod in on_node if pod.priority < self._pod.priority]
            leaving = {pod.uid: pod for pod in victims}
            potential = list({pod.uid: pod for pod in (*lower, *victims)}.values())
            sort_by_importance(potential, ages, on_node)
            violated = self.violated_budgets(potential)
            ordered = tuple(pod for pod in potential if pod.uid in leaving)
            listed[node] = Victims(ordered, sum(pod.uid in violated for pod in ordered))
        return pick_one_node(listed).node

    def _row_of(self, pod: PodInfo) -> int:
        """Return the row that the pod is on."""
        row = self._rows.get(pod.uid)
        if row is not None and pod.uid not in self._removed:
            return row
        snapshot = self._fork
        likely = snapshot.row.get(pod.pod.node_name)
        for row in (*(() if likely is None else (likely,)), *range(len(snapshot))):
            if any(other.uid == pod.uid for other in snapshot.pods[row]):
                self._rows[pod.uid] = row
                return row
        raise ValueError(f"the pod {pod.key} is on no node in this trial")

    def _tell(
        self,
        extension: Callable[[CycleState, PodInfo, PodInfo, NodeInfo], Status],
        other: PodInfo,
        row: int,
    ) -> None:
        """Run AddPod or RemovePod of the plugins that the other pod concerns."""
        concerned = self._concerned.get(other.signature)
        if concerned is None:
            concerned = self._filtering.concerns(self._state, self._pod, other)
            self._concerned[other.signature] = concerned
        if concerned and self._failure is None:
            status = extension(self._state, self._pod, other, NodeInfo(self._fork, row))
            self._failure = None if status.is_success else status


def ineligible(handle: Handle, pod: PodInfo, filtered: NodeStatuses) -> str:
    """Return why the pod may not preempt, or "". Upstream: PodEligibleToPreemptOthers."""
    groups = handle.pod_groups
    are_entities = groups is not None and groups.are_entities
    if groups is not None and pod.spec.scheduling_group is not None and not are_entities:
        group = groups.get(pod)
        if groups.places and group is None:
            return NO_GROUP
        if groups.places and group is not None and group.is_constrained:
            return PLACED_AS_GROUP
        if groups.preempts:
            return PREEMPTS_AS_GROUP
    if pod.spec.preemption_policy == "Never":
        return NEVER
    nominated = handle.nominator.node_of(pod)
    row = handle.snapshot.row.get(nominated)
    if row is None or filtered.at(row).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    priority_of = groups.victim_priority if groups is not None and are_entities else _priority
    terminating = (
        priority_of(other) < pod.priority and is_terminating_by_preemption(other)
        for other in handle.snapshot.pods[row]
    )
    return TERMINATING if any(terminating) else ""


def _priority(pod: PodInfo) -> int:
    return pod.priority


def is_terminating_by_preemption(pod: PodInfo) -> bool:
    """Return whether preemption evicts the pod. The first condition of the type decides. Upstream:
    podTerminatingByPreemption."""
    if not pod.pod.deleting:
        return False
    for condition in pod.pod.status.conditions:
        if condition.type == DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == BY_SCHEDULER
    return False

"""drain NODE...: cordon, and the nodes' pods pending again.

Upstream: staging/src/k8s.io/kubectl/pkg/drain/filters.go (which pods), and
pkg/registry/core/pod/storage/eviction.go (what budgets allow).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Pod, PodDisruptionBudget
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.drainability import has_empty_dir
from ksched_cli.scenario.lookup import read_selector
from ksched_cli.scenario.nodes import NodeChoice, cordon
from ksched_cli.scenario.pod_passes import select_on_nodes
from ksched_cli.scenario.pods import (
    budget_matcher,
    is_of_daemon_set,
    is_ready,
    is_running,
    is_static,
    moved,
    pending_again,
    with_counts,
    without_pods,
)

LEFT = "stays"
NEVER, WAITS, FINISHES = (
    "drain never finishes",
    "drain waits for a disruption budget",
    "drain finishes",
)


@dataclass(frozen=True, slots=True)
class Drain(Change):
    """drain NODE...

    Without flags as if told to go on: pods without a controller and those with emptyDir volumes
    leave too, DaemonSets' pods stay, and the record says that kubectl would refuse.

    force:               pods without a controller are deleted, and nobody makes them anew
    ignore_daemonsets, delete_emptydir: kubectl's flags; the record is silent about such pods
    disable_eviction:    pods are deleted, whatever budgets allow
    pod_selector:        the other pods stay; "" for all
    """

    nodes: NodeChoice
    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir: bool = False
    disable_eviction: bool = False
    pod_selector: str = ""
    evicts: ClassVar[bool] = True

    @staticmethod
    def parse(arguments: Arguments) -> Drain:
        pod_selector = arguments.flags.get("--pod-selector", "")
        read_selector(arguments.text, pod_selector)
        return Drain(
            arguments.text,
            NodeChoice.read(arguments, arguments.names),
            arguments.has("--force"),
            arguments.has("--ignore-daemonsets"),
            arguments.has("--delete-emptydir-data"),
            arguments.has("--disable-eviction"),
            pod_selector,
        )

    def apply(self, state: ClusterState) -> Changed:
        nodes = self.nodes.of(self, state)
        state, effects = cordon(state, nodes)
        place = {name: index for index, name in enumerate(nodes)}
        selector = read_selector(self.text, self.pod_selector)
        pods = [
            pod
            for pod in select_on_nodes(state.pods, place)
            if selector.matches(pod.metadata.labels)
        ]
        pods.sort(key=lambda pod: (place[pod.node_name], pod.key))
        budgets = Evictions(state)
        leaving: list[Pod] = []
        gone: list[Pod] = []
        refused: list[Pod] = []
        left: list[Effect] = []
        for pod in pods:
            refusal = _never_leaves(pod)
            if not refusal and not self.disable_eviction:
                refusal = budgets.evict(pod)
                if refusal:
                    refused.append(pod)
            if refusal:
                left.append(Effect(pod.key, LEFT, refusal))
                if is_of_daemon_set(pod) and is_running(pod) and not self.ignore_daemonsets:
                    left.append(Effect(pod.key, "kubectl would refuse without --ignore-daemonsets"))
                continue
            (gone if self.force and pod.metadata.controller is None else leaving).append(pod)
            effects += self._effects(pod)
        # Evictions counted the budgets down; pods that count as healthy are not counted twice.
        state = with_budgets(pending_again(without_pods(state, gone), leaving), state, budgets)
        return state, [*_verdicts(nodes, refused, budgets), *effects, *left]

    def _effects(self, pod: Pod) -> list[Effect]:
        effects = []
        has_controller = pod.metadata.controller is not None
        if self.force and not has_controller:
            effects.append(Effect(pod.key, "deleted", f"was on {pod.node_name}; no controller"))
        else:
            effects += moved([pod])
            if not has_controller:
                effects.append(
                    Effect(
                        pod.key,
                        "kubectl would refuse without --force",
                        "no controller, so nothing creates it again",
                    )
                )
        if not self.delete_emptydir and has_empty_dir(pod):
            effects.append(Effect(pod.key, "kubectl would refuse without --delete-emptydir-data"))
        return effects


def _never_leaves(pod: Pod) -> str:
    """Return why a drain passes the pod over, or ""."""
    if pod.finished:
        return f"finished: {pod.status.phase}"
    if is_static(pod):
        return "static pod"
    if is_of_daemon_set(pod):
        return "pod of a DaemonSet"
    return "is being deleted" if pod.deleting else ""


def _verdicts(nodes: Sequence[str], refused: Sequence[Pod], budgets: Evictions) -> list[Effect]:
    """Return how the drain of each node ends, the worst first. refused: pods that budgets keep
    now"""
    obstacles: dict[str, dict[tuple[str, str], None]] = {node: {} for node in nodes}
    for pod in refused:
        obstacles[pod.node_name][budgets.outlook(pod)] = None
    verdicts = [
        Effect(node, *outlook)
        for node, outlooks in obstacles.items()
        for outlook in outlooks or {(FINISHES, ""): None}
    ]
    return sorted(verdicts, key=lambda effect: (NEVER, WAITS, FINISHES).index(effect.action))


class Evictions:
    """The evictions that a state's disruption budgets allow; each eviction uses some of them up.

    Upstream: EvictionREST.Create.
    """

    def __init__(self, state: ClusterState) -> None:
        self.budgets = dict(state.pod_disruption_budgets)
        self._matchers = {key: budget_matcher(budget) for key, budget in self.budgets.items()}
        self._allowed = {key: b.status.disruptions_allowed for key, b in self.budgets.items()}

    def evict(self, pod: Pod) -> str:
        """Evict a pod. Return why that is refused; "" where it is granted, which uses the budget
        up."""
        if pod.status.phase == "Pending" and pod.status.conditions:
            return ""
        keys = [key for key, matches in self._matchers.items() if matches(pod)]
        if len(keys) > 1:
            names = ", ".join(name for _, name in keys)
            return (
                f"matches several disruption budgets ({names}), and the eviction API refuses "
                "such pods"
            )
        if not keys:
            return ""
        budget = self.budgets[keys[0]]
        status = budget.status
        if not is_ready(pod) and self._may_leave_unready(budget):
            return ""
        if status.disruptions_allowed <= 0:
            evicted = self._allowed[keys[0]] - status.disruptions_allowed
            after = f" after {evicted} eviction{'s' if evicted > 1 else ''}" if evicted else ""
            return (
                f"disruption budget {budget.key} allows no more disruptions: it needs "
                f"{status.desired_healthy} healthy pods and has "
                f"{status.current_healthy - evicted}{after}"
            )
        allowed = status.disruptions_allowed - 1
        self.budgets[keys[0]] = with_counts(budget, disruptions_allowed=allowed)
        return ""

    def outlook(self, pod: Pod) -> tuple[str, str]:
        """Return how long, and by which budgets, the pod's eviction is refused."""
        keys = [key for key, matches in self._matchers.items() if matches(pod)]
        names = ", ".join(self.budgets[key].key for key in keys)
        if len(keys) > 1:
            return (
                NEVER,
                f"budgets {names} select the same pods, and the eviction API refuses such pods",
            )
        status = self.budgets[keys[0]].status
        if status.desired_healthy >= status.expected_pods > 0:
            return NEVER, (
                f"budget {names} requires {status.desired_healthy} of {status.expected_pods} pods"
            )
        evicted = self._allowed[keys[0]] - status.disruptions_allowed
        missing = status.desired_healthy + 1 - (status.current_healthy - evicted)
        more = "1 more pod is" if missing == 1 else f"{missing} more pods are"
        return WAITS, f"{names}, until {more} healthy elsewhere"

    def is_final(self, pod: Pod) -> bool:
        """Whether an eviction that is refused now is refused whenever it is tried."""
        return self.outlook(pod)[0] == NEVER

    def _may_leave_unready(self, budget: PodDisruptionBudget) -> bool:
        if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
            return True
        status = budget.status
        return status.current_healthy >= status.desired_healthy > 0


def with_budgets(after: ClusterState, before: ClusterState, evictions: Evictions) -> ClusterState:
    """Gives each budget the lower of what evictions left of it and what its healthy pods leave."""
    budgets = dict(after.pod_disruption_budgets)
    for key, evicted in evictions.budgets.items():
        if evicted is before.pod_disruption_budgets[key]:
            continue
        both = (each.status.disruptions_allowed for each in (budgets[key], evicted))
        budgets[key] = with_counts(budgets[key], disruptions_allowed=min(both))
    return replace(after, pod_disruption_budgets=budgets)

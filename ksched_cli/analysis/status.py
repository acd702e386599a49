"""A cluster at a glance: its nodes, how full they are, the pods that stay pending, and the budgets
that let no pod go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, UnsetType

from ksched_cli.analysis.cluster_cost import ClusterCost, cluster_cost
from ksched_cli.analysis.diagnosis import PendingGroup, pending_groups
from ksched_cli.analysis.gates import READS
from ksched_cli.analysis.held_pods import GATED, held_pods
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.idle_constraints import idle_constraint_lines
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.usage import (
    NodeUsage,
    PoolUsage,
    UtilizationByLabel,
    node_usages,
    pool_label,
    total_of,
    utilization_by,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.state_warnings import is_dump
from ksched_cli.cluster.objects import Pod
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.near_names import near_hint
from ksched_cli.run.open import Watch
from ksched_cli.scenario.disruption import with_statuses
from ksched_cli.scenario.drain import goes_with_node
from ksched_cli.scenario.objects import objects_of
from ksched_cli.scenario.pods import PodsByLabel

# Kinds that decisions depend on, and that a dump of nodes and pods lacks.
_NEEDED = (
    "PodDisruptionBudget",
    "PriorityClass",
    "Namespace",
    "ReplicaSet",
    "DaemonSet",
    "StorageClass",
    "PersistentVolumeClaim",
)


class NodeCounts(Part, frozen=True):
    """Counts of nodes.

    taking_pods: ordinary nodes, which are ready and not cordoned
    apart: why other nodes take no ordinary pods, as "cordoned" → their names
    """

    total: Count
    taking_pods: Count
    apart: Mapping[str, tuple[str, ...]]


class PodCounts(Part, frozen=True):
    """Counts of pods.

    running: on a node, and not finished
    placeable: without a node, that a run gives one
    pending: without a node, that a run gives none
    gated: that a run does not try
    """

    running: Count
    placeable: Count
    pending: Count
    gated: Count


class GatedGroup(Part, frozen=True):
    """Pods of one owner that are kept out of the queue.

    owner: namespace/Kind/name of the controller; of a pod without one, its own
    because: what keeps them
    """

    owner: str
    pods: tuple[str, ...]
    because: str


class BlockingBudget(Part, frozen=True):
    """A disruption budget that lets none of its pods be evicted, so that it blocks every drain of
    their nodes.

    pods: how many run; nodes: on how many nodes
    healthy, needed: how many pods are ready, and have to be
    always: it allows none even when all its pods are ready
    shares: other budgets that select some of its pods, which the eviction API refuses
    """

    budget: str
    pods: Count
    nodes: Count
    healthy: Count
    needed: Count
    always: bool
    shares: tuple[str, ...] = ()


class ClusterStatus(StateAnswer, frozen=True, kw_only=True):
    """A cluster at a glance.

    total: how full the nodes that take pods are together
    pools: how full they are by a label
    pending: pods that a run leaves pending, by owner and cause; those of the most pods first
    gated: pods that it does not try, by owner and cause
    blocking_budgets: those that block every drain of their nodes
    cost: of all nodes; missing without prices
    idle_budgets: those that select no pod
    idle_constraints: constraints of pods that do nothing, a sentence for each
    lacks: kinds without an object in the state that may be there in the cluster
    usages: per node
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "status"
    VIEW: ClassVar = "status:view"
    ROWS: ClassVar = "pending"

    kind: Literal["Status"] = "Status"
    nodes: NodeCounts
    pods: PodCounts
    total: PoolUsage
    pools: UtilizationByLabel
    cost: ClusterCost | UnsetType = UNSET
    pending: tuple[PendingGroup, ...] = ()
    gated: tuple[GatedGroup, ...] = ()
    blocking_budgets: tuple[BlockingBudget, ...] = ()
    idle_budgets: tuple[str, ...] = ()
    idle_constraints: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    usages: Annotated[tuple[NodeUsage, ...], HIDDEN] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(is_yes=True, is_undecided=self.undecided)


def _label(by: str, usages: Sequence[NodeUsage]) -> str:
    """Return the label that is asked for, else that of pools. Raises UsageError where no node has
    it."""
    labels = {key for usage in usages for key in usage.labels}
    if by and by not in labels:
        raise UsageError(f'no node has the label "{by}"{near_hint(by, sorted(labels))}')
    return by or pool_label(usages)


class ShowStatus(Question[ClusterStatus], frozen=True, kw_only=True):
    """Show a cluster at a glance. by: the label of pools; "" for that of the cluster's provider"""

    READS: ClassVar = READS
    USES: ClassVar = ("prices",)

    by: str = ""

    def answer(self, opened: Opened) -> ClusterStatus:
        with opened.observer.progress("pods placed") as on_progress:
            simulation = opened.simulation(watch=Watch(on_progress=on_progress))
            state = simulation.state
            snapshot = simulation.snapshot
            usages = node_usages(snapshot, opened.opener.prices(opened.run))
            cost = cluster_cost(snapshot, usages)
            run = simulation.run()
            hints = Hints(simulation, run, workloads=opened.run.workloads)
            pending = pending_groups(simulation, run, hints)
        apart: dict[str, list[str]] = {}
        for usage in usages:
            apart.setdefault(usage.apart, []).append(usage.name)
        ordinary = apart.pop("", [])
        # The budgets that let no pod go, those of the most nodes first, and those that select none.
        synced = with_statuses(state)
        pods_by_label, budgets = PodsByLabel(synced.pods), synced.pod_disruption_budgets
        selected: dict[tuple[str, str], list[Pod]] = {}
        budgets_of: dict[str, list[tuple[str, str]]] = {}
        idle = []
        for key, budget in budgets.items():
            pods = pods_by_label.of_budget(budget)
            if not pods:
                idle.append(budget.key)
            selected[key] = [pod for pod in pods if pod.node_name and not goes_with_node(pod)]
            for pod in selected[key]:
                budgets_of.setdefault(pod.key, []).append(key)
        blocking = []
        for key, own in selected.items():
            status = budgets[key].status
            shared = [pod.key for pod in own if len(budgets_of[pod.key]) > 1]
            sharing = {other for pod in shared for other in budgets_of[pod]} - {key}
            others = [
                budgets[other].key for other in (selected if sharing else ()) if other in sharing
            ]
            if own and (status.disruptions_allowed <= 0 or len(shared) == len(own)):
                blocking.append(
                    BlockingBudget(
                        budget=budgets[key].key,
                        pods=len(own),
                        nodes=len({pod.node_name for pod in own}),
                        healthy=status.current_healthy,
                        needed=status.desired_healthy,
                        always=bool(others) or status.desired_healthy >= status.expected_pods,
                        shares=tuple(others),
                    )
                )
        blocking.sort(key=lambda each: (-each.nodes, each.budget))
        gated = tuple(
            GatedGroup(
                f"{each.namespace}/{each.owner}", each.pods, "; ".join(each.notes) or each.reason
            )
            for each in held_pods(simulation, run)
            if each.state == GATED
        )
        # Kinds that an API server's objects may have left behind.
        lacks = tuple(
            name
            for name in (_NEEDED if is_dump(state) else ())
            if name not in state.whole_kinds and not objects_of(state, KINDS[name])
        )
        return ClusterStatus(
            nodes=NodeCounts(
                len(usages), len(ordinary), {why: tuple(names) for why, names in apart.items()}
            ),
            pods=PodCounts(
                running=sum(bool(pod.node_name) and not pod.finished for pod in state.pods),
                placeable=len(run.placements),
                pending=len(run.pending),
                gated=len(run.gated),
            ),
            total=total_of(usages),
            pools=utilization_by(_label(self.by, usages), usages),
            cost=cost,
            pending=pending,
            gated=gated,
            blocking_budgets=tuple(blocking),
            idle_budgets=tuple(idle),
            idle_constraints=tuple(
                idle_constraint_lines(state, simulation.configuration.release, running=True)
            ),
            lacks=lacks,
            usages=usages,
            undecided=bool(simulation.caller.defects),
        )


class Fullness(StateAnswer, frozen=True, kw_only=True):
    """How full a cluster is, as it is now.

    total: the nodes that take pods together
    pools: by a label
    cost: of all nodes; missing without prices
    usages: per node
    """

    COMMAND: ClassVar = "capacity"
    VIEW: ClassVar = "status:fullness_view"
    ROWS: ClassVar = "pools.pools"

    kind: Literal["CapacityResult"] = "CapacityResult"
    total: PoolUsage
    pools: UtilizationByLabel
    cost: ClusterCost | UnsetType = UNSET
    usages: Annotated[tuple[NodeUsage, ...], HIDDEN] = ()


class ShowFullness(Question[Fullness], frozen=True, kw_only=True):
    """Show how full a cluster is. by: see ShowStatus"""

    USES: ClassVar = ("prices",)

    by: str = ""

    def answer(self, opened: Opened) -> Fullness:
        snapshot = opened.simulation().snapshot
        usages = node_usages(snapshot, opened.opener.prices(opened.run))
        return Fullness(
            total=total_of(usages),
            pools=utilization_by(_label(self.by, usages), usages),
            cost=cluster_cost(snapshot, usages),
            usages=usages,
        )

"""Utilization of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from msgspec import UNSET, UnsetType, structs

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import COUNTABLE, USAGE_DIGITS, Snapshot
from ksched_cli.kube.quantity import exact_text
from ksched_cli.plugins.taint_toleration import HARD_EFFECTS
from ksched_cli.scenario.prices import NO_PRICES, Prices

COST_DIGITS = 6
CORDONED = "cordoned"
# Labels by which providers and autoscalers name pools of nodes, and what groups nodes else.
POOL_LABELS = (
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "alpha.eksctl.io/nodegroup-name",
    "node-pool",
    "nodepool",
    "pool",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "kubernetes.io/arch",
)
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
# The prefix of taints that say what is wrong with a node.
CONDITIONS = "node.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """A node's allocatable and what the pods on it request, by resource, in the scheduler's units;
    where plugins say what pods use (CountsUsage), that.

    pods: how many are on it. apart: see `set_apart`. labels: the node's. per_hour: its price; None
    where it has none"""

    name: str
    allocatable: Mapping[str, int]
    requested: Mapping[str, float]
    pods: int
    apart: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    per_hour: float | None = None

    @property
    def most_requested(self) -> tuple[str, float]:
        """Return the resource of which the largest share is requested, and the share; "" and 0
        where the node has none."""
        shares = {
            name: self.requested.get(name, 0) / amount
            for name, amount in self.allocatable.items()
            if amount and name != PODS
        }
        return max(shares.items(), key=lambda share: share[1], default=("", 0.0))

    @property
    def idle(self) -> float:
        """Return the share of the node that is not requested, of the resource of which the most
        is."""
        return 1 - min(1.0, self.most_requested[1])


class HourlyCost(Part, frozen=True):
    """What nodes cost an hour.

    idle: what the part of them costs that is not requested: of each node, of the resource of which
          the most is
    unpriced: how many nodes have no price
    """

    per_hour: float
    idle: float
    unpriced: Count = 0

    @classmethod
    def of(cls, usages: Iterable[NodeUsage]) -> HourlyCost | UnsetType:
        """Return the cost of nodes; UNSET where none has a price."""
        usages = tuple(usages)
        priced = [(each.per_hour, each.idle) for each in usages if each.per_hour is not None]
        if not priced:
            return UNSET
        return cls(
            round(sum(price for price, _ in priced), COST_DIGITS),
            round(sum(price * idle for price, idle in priced), COST_DIGITS),
            len(usages) - len(priced),
        )


def set_apart(node: Node) -> str:
    """Return why the node takes no ordinary pods, as "cordoned"; "" where it does."""
    if node.spec.unschedulable:
        return CORDONED
    for taint in node.spec.taints:
        if taint.effect in HARD_EFFECTS and taint.key in CONTROL_PLANE:
            return "control plane"
        if taint.effect in HARD_EFFECTS and taint.key.startswith(CONDITIONS):
            condition = taint.key.removeprefix(CONDITIONS)
            return CORDONED if condition == "unschedulable" else condition
    return ""


class NodeResources(Part, frozen=True):
    """A node's allocatable, and what the pods on it request, as Kubernetes quantities, bytes in
    full.

    allocatable: resource → quantity
    requested: resource → quantity
    """

    name: str
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    pods: Count


def resources_of(usages: Sequence[NodeUsage]) -> tuple[NodeResources, ...]:
    return tuple(
        NodeResources(
            usage.name,
            {key: quantity(key, value) for key, value in usage.allocatable.items()},
            {key: quantity(key, value) for key, value in usage.requested.items()},
            usage.pods,
        )
        for usage in usages
    )


def quantity(resource: str, amount: float) -> str:
    is_plain = resource != "cpu" and amount == int(amount)
    return str(int(amount)) if is_plain else exact_text(resource, amount)


def node_usages(snapshot: Snapshot, prices: Prices = NO_PRICES) -> tuple[NodeUsage, ...]:
    """Return per node, by name: cpu, memory and pods, and what else it has any of."""
    counts = snapshot.pod_count.tolist()
    allocatable = {
        resource: column.tolist()
        for resource, column in sorted(snapshot.node_columns.allocatable.items())
    }
    requested: dict[str, list[float]] = {}
    for resource in allocatable:
        amounts = snapshot.used(resource)
        requested[resource] = amounts.tolist()
        if amounts.dtype != np.int64:
            # Whole amounts are integers.
            requested[resource] = [int(n) if n == int(n) else n for n in requested[resource]]
    listed = map(prices.of_node, snapshot.nodes)
    per_hour = [None if each is None else each.price.per_hour for each in listed]
    return tuple(
        NodeUsage(
            name,
            {
                resource: column[row]
                for resource, column in allocatable.items()
                if column[row] or resource in COUNTABLE
            },
            {
                resource: column[row]
                for resource, column in requested.items()
                if resource != PODS and (allocatable[resource][row] or resource in COUNTABLE)
            },
            counts[row],
            set_apart(snapshot.nodes[row]),
            snapshot.nodes[row].metadata.labels,
            per_hour[row],
        )
        for row, name in enumerate(snapshot.names)
    )


class PoolUsage(Part, frozen=True):
    """Nodes that take pods and have one value of a label, or that take none for one reason.

    value: null where the nodes lack the label, or are apart
    apart: why they take no ordinary pods, as "cordoned"; empty where they do
    allocatable: resource → quantity
    requested: resource → quantity
    used: resource → share of allocatable that is requested
    cost: missing without prices
    """

    value: str | None
    apart: str
    nodes: Count
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    used: Mapping[str, float]
    cost: HourlyCost | UnsetType = UNSET


class UtilizationByLabel(Part, frozen=True):
    """How full the nodes are, by a label of theirs."""

    label: str
    pools: tuple[PoolUsage, ...]


def utilization_by(label: str, usages: Sequence[NodeUsage]) -> UtilizationByLabel:
    """Return pools by value; then, for each reason, the nodes that take no pods."""
    members: dict[tuple[str, bool, str], list[NodeUsage]] = {}
    for usage in usages:
        value = None if usage.apart else usage.labels.get(label)
        members.setdefault((usage.apart, value is None, value or ""), []).append(usage)
    return UtilizationByLabel(
        label,
        tuple(
            _pool(None if lacks_label else value, apart, nodes)
            for (apart, lacks_label, value), nodes in sorted(members.items())
        ),
    )


def pool_label(usages: Sequence[NodeUsage]) -> str:
    """Return the first of POOL_LABELS that at least half of the nodes have, else the last."""
    counts = Counter(label for usage in usages for label in usage.labels)
    common = (label for label in POOL_LABELS if 2 * counts[label] >= max(1, len(usages)))
    return next(common, POOL_LABELS[-1])


def total_of(usages: Sequence[NodeUsage]) -> PoolUsage:
    """Return the nodes that take pods, together; all nodes where none does."""
    return _pool(None, "", [usage for usage in usages if not usage.apart] or usages)


def _pool(value: str | None, apart: str, usages: Sequence[NodeUsage]) -> PoolUsage:
    allocatable, requested = Counter[str](), dict[str, float]()
    for usage in usages:
        allocatable.update(usage.allocatable)
        for key, amount in {**usage.requested, PODS: usage.pods}.items():
            requested[key] = round(requested.get(key, 0) + amount, USAGE_DIGITS)
    has_any = {key: amount for key, amount in allocatable.items() if amount}
    return PoolUsage(
        value,
        apart,
        len(usages),
        {key: quantity(key, amount) for key, amount in has_any.items()},
        {key: quantity(key, requested.get(key, 0)) for key in has_any},
        {key: requested.get(key, 0) / amount for key, amount in has_any.items()},
        HourlyCost.of(usages),
    )


def nodes_used(snapshot: Snapshot) -> int:
    """Return how many nodes have pods on them."""
    return int((snapshot.pod_count > 0).sum())


class Utilization(Part, frozen=True):
    """The shares of a resource that pods request, over the nodes that take pods and have any of it:
    0.5 is half of a node's allocatable.

    stddev: over all these nodes, not of a sample
    total: of all that these nodes have together
    """

    mean: float
    max: float
    stddev: float
    total: float

    def rounded(self, digits: int) -> Self:
        return type(self)(*(round(share, digits) for share in structs.astuple(self)))


def utilization(snapshot: Snapshot) -> dict[str, Utilization]:
    """Return the utilization by resource, of those that some node has. Nodes of the control plane,
    cordoned and unreachable ones are left out, if there are others."""
    answer = {}
    takes_pods = np.array([not set_apart(node) for node in snapshot.nodes], dtype=np.bool_)
    if not takes_pods.any():
        takes_pods = ~takes_pods
    for resource, allocatable in sorted(snapshot.node_columns.allocatable.items()):
        requested = snapshot.used(resource)
        has_any = (allocatable > 0) & takes_pods
        if has_any.any():
            shares = requested[has_any] / allocatable[has_any]
            answer[resource] = Utilization(
                float(shares.mean()),
                float(shares.max()),
                float(shares.std()),
                float(requested[has_any].sum() / allocatable[has_any].sum()),
            )
    return answer

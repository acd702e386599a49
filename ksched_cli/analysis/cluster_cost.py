"""What a cluster costs an hour, and who requests the part of it that is not idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.diagnosis import owner_path
from ksched_cli.analysis.usage import COST_DIGITS, HourlyCost, NodeUsage
from ksched_cli.answers import Count, Part
from ksched_cli.cluster.snapshot import Snapshot


class CostShare(Part, frozen=True):
    """What the pods of a namespace or an owner cost an hour by their requests.

    name: the namespace, or namespace/Kind/name of the owner; of a pod without one, its own
    pods: how many are on nodes that cost something
    """

    name: str
    pods: Count
    per_hour: float


class ClusterCost(HourlyCost, frozen=True):
    """What nodes cost an hour, and by whose requests. The shares of the namespaces and the idle
    part add up to the cost, and so do those of the owners.

    by_namespace, by_owner: the part that pods request, what costs most first
    """

    by_namespace: tuple[CostShare, ...] = ()
    by_owner: tuple[CostShare, ...] = ()


def cluster_cost(snapshot: Snapshot, usages: Sequence[NodeUsage]) -> ClusterCost | UnsetType:
    """Return the cost of these nodes of the snapshot; UNSET where none has a price.

    usages: with prices, of the nodes as they are in the snapshot
    """
    cost = HourlyCost.of(usages)
    if cost is UNSET:
        return UNSET
    counts = Counter[str](), Counter[str]()
    costs = dict[str, float](), dict[str, float]()
    for usage in usages:
        if not usage.per_hour:
            continue
        # Pods share the cost by the resource that says how much of it is idle, too.
        most, _ = usage.most_requested
        requested, used = usage.requested.get(most), usage.per_hour * (1 - usage.idle)
        for info in snapshot.pods[snapshot.row[usage.name]]:
            part = used * snapshot.use_of(info).get(most, 0) / requested if requested else 0.0
            for at, name in enumerate((info.pod.namespace, owner_path(info.pod))):
                counts[at][name] += 1
                costs[at][name] = costs[at].get(name, 0) + part
    shares = []
    for pods, own in zip(counts, costs, strict=True):
        names = sorted(pods, key=lambda name: (-own[name], name))
        each = (CostShare(name, pods[name], round(own[name], COST_DIGITS)) for name in names)
        shares.append(tuple(each))
    return ClusterCost(*structs.astuple(cost), *shares)

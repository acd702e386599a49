"""A cluster before and after a run, node by node and pod by pod: the data of a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ksched_cli.analysis.pending import owner_path
from ksched_cli.analysis.usage import NodeUsage, node_usages
from ksched_cli.cluster.node_columns import REGION_LABELS, ZONE_LABELS
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation

# The labels by which nodes are grouped first, where they have them.
FIRST_LABELS = (*ZONE_LABELS[::-1], *REGION_LABELS[::-1], "node.kubernetes.io/instance-type")
# A label with more values groups nothing.
MAX_GROUPS = 60
MAX_LABELS = 40


@dataclass(frozen=True, slots=True)
class MappedPod:
    """A pod that is on a node, or waits for one, or was evicted.

    owner:    namespace/Kind/name of its controller, or of itself
    state:    running, placed, evicted, pending, undecided, gated or left out
    node:     that it is on, or was evicted from, or ""
    score:    of the node taken, where nodes were scored
    why:      why it is on none
    requests: by resource, in the scheduler's units
    """

    pod: str
    owner: str
    state: str
    node: str
    score: int | None
    why: str
    priority: int
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterMap:
    """Nodes in order of their names, pods too.

    before, after: how full each node is
    labels: key → value per node, "" where it has none; of the labels that group nodes
    taints: per node, as kubectl shows them; a cordoned node's say so
    """

    before: Sequence[NodeUsage]
    after: Sequence[NodeUsage]
    labels: Mapping[str, Sequence[str]]
    taints: Sequence[str]
    pods: Sequence[MappedPod]


def cluster_map(simulation: Simulation, run: RunRecord, before: Sequence[NodeUsage]) -> ClusterMap:
    """before: the nodes' usage as it was when the simulation had not run yet"""
    nodes = simulation.snapshot.nodes
    return ClusterMap(
        before,
        node_usages(simulation.snapshot),
        grouping_labels([node.metadata.labels for node in nodes]),
        [_taints(node) for node in nodes],
        _pods(simulation, run),
    )


def grouping_labels(nodes: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The labels that group nodes, those of zones and machines first, then those of few values.
    nodes: the labels of each"""
    values: dict[str, set[str]] = {}
    for labels in nodes:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    counts = {
        key: len(group)
        for key, group in values.items()
        if key in FIRST_LABELS or 1 < len(group) < len(nodes)
    }
    keys = [key for key in FIRST_LABELS if key in counts]
    keys += sorted(counts.keys() - keys, key=lambda key: (counts[key], key))
    keys = [key for key in keys if counts[key] <= MAX_GROUPS][:MAX_LABELS]
    return {key: [labels.get(key, "") for labels in nodes] for key in keys}


def _taints(node: Node) -> str:
    taints = [
        f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
        for taint in node.spec.taints
    ]
    return ", ".join(["cordoned"] * bool(node.spec.unschedulable) + taints)


def _pods(simulation: Simulation, run: RunRecord) -> list[MappedPod]:
    evicted_from = {eviction.pod: eviction for eviction in run.evicted}
    failed, pending = frozenset(run.failed), frozenset(run.pending)
    ignored = {pod.pod: pod.reason for pod in run.ignored}

    def mapped(pod: Pod) -> MappedPod:
        key, info = pod.key, simulation.catalog.info(pod)
        state, node, score, why = "running", pod.node_name or "", None, ""
        if key in run.placements:
            state, node, score = "placed", run.placements[key], run.last[key].score
        elif key in pending:
            state, node, why = "pending", "", run.last[key].why_not
            if key in failed:
                state = "undecided"
        elif key in evicted_from:
            eviction = evicted_from[key]
            state, node, why = "evicted", eviction.node, f"for {eviction.preemptor}"
        elif key in run.gated:
            state, why = "gated", run.gated[key].message
        elif key in ignored:
            state, node, why = "left out", "", f"it is {ignored[key]}"
        requests = info.resources.requests
        return MappedPod(key, owner_path(pod), state, node, score, why, info.priority, requests)

    return sorted(map(mapped, simulation.state.pods), key=lambda pod: pod.pod)

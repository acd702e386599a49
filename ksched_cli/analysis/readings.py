"""A pod or a node in a few lines: what decisions about it depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from ksched_cli.analysis.diagnosis import owner_path
from ksched_cli.analysis.named_objects import check_nodes, find_pod
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.usage import node_usages, set_apart
from ksched_cli.answers import Part, StateAnswer
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import UsageError
from ksched_cli.kube.quantity import exact_text
from ksched_cli.plugins.taint_toleration import taint_text


class PodReading(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A pod.

    owner: namespace/Kind/name of its controller, of a Deployment where its ReplicaSet is; or of
           itself
    node: where it is; empty where it waits; nominated_node: that preemption made room on for it
    scheduler: its schedulerName
    requests: resource → quantity
    gates: its scheduling gates
    group: its PodGroup
    deleting: it is being deleted
    """

    pod: str
    owner: str
    phase: str = ""
    node: str = ""
    nominated_node: str = ""
    priority: int
    priority_class: str = ""
    preemption_policy: str = ""
    scheduler: str = ""
    created: str = ""
    deleting: bool = False
    requests: Mapping[str, str] = {}
    gates: tuple[str, ...] = ()
    group: str = ""
    labels: Mapping[str, str] = {}
    node_selector: Mapping[str, str] = {}


class PodOnNode(Part, frozen=True):
    """A pod on a node. owner: as of a PodReading; requests: resource → quantity"""

    pod: str
    priority: int
    owner: str
    requests: Mapping[str, str]


class NodeReading(Part, frozen=True, kw_only=True):
    """A node.

    apart: why it takes no ordinary pods, as "cordoned"; empty where it does
    taints: as kubectl writes them
    allocatable, requested, free: resource → quantity
    pods: on it, those of the highest priority first
    """

    node: str
    apart: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    free: Mapping[str, str]
    pods: tuple[PodOnNode, ...]


class Reading(StateAnswer, frozen=True, kw_only=True):
    """A pod, or a node. The other one is null."""

    COMMAND: ClassVar = "serve mcp"
    VIEW: ClassVar = "troubleshooting:reading_view"

    kind: Literal["Reading"] = "Reading"
    pod: PodReading | None = None
    node: NodeReading | None = None


class Read(Question[Reading], frozen=True, kw_only=True):
    """Read a pod, as `explain` takes it, or a node."""

    pod: str = ""
    node: str = ""

    def answer(self, opened: Opened) -> Reading:
        if bool(self.pod) == bool(self.node):
            raise UsageError("read takes a pod or a node")
        simulation = opened.simulation()
        if self.node:
            check_nodes(simulation, (self.node,))
            return Reading(node=node_reading(simulation, self.node))
        return Reading(pod=pod_reading(find_pod(simulation, self.pod, opened.run.namespace)))


def pod_reading(info: PodInfo) -> PodReading:
    """Return what decides about a pod."""
    pod, spec = info.pod, info.spec
    group = spec.scheduling_group
    return PodReading(
        pod=pod.key,
        owner=owner_path(pod),
        phase=pod.status.phase,
        node=pod.node_name,
        nominated_node=pod.status.nominated_node_name,
        priority=info.priority,
        priority_class=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
        scheduler=spec.scheduler_name,
        created=pod.metadata.creation_timestamp,
        deleting=pod.deleting,
        requests=_requests(info),
        gates=tuple(gate.name for gate in spec.scheduling_gates),
        group=group.pod_group_name if group is not None else "",
        labels=pod.metadata.labels,
        node_selector=spec.node_selector,
    )


def node_reading(simulation: Simulation, name: str) -> NodeReading:
    """Return a node that is in the simulation's snapshot, as it is now."""
    snapshot = simulation.snapshot
    row = snapshot.row[name]
    node = snapshot.nodes[row]
    usage = next(each for each in node_usages(snapshot) if each.name == name)
    requested = {**usage.requested, PODS: usage.pods}
    amounts = {name: (amount, requested.get(name, 0)) for name, amount in usage.allocatable.items()}
    pods = sorted(snapshot.pods[row], key=lambda info: (-info.priority, info.key))
    return NodeReading(
        node=name,
        apart=set_apart(node),
        labels=node.metadata.labels,
        taints=tuple(map(taint_text, node.spec.taints)),
        allocatable={name: exact_text(name, amount) for name, (amount, _) in amounts.items()},
        requested={name: exact_text(name, used) for name, (_, used) in amounts.items()},
        free={name: exact_text(name, amount - used) for name, (amount, used) in amounts.items()},
        pods=tuple(
            PodOnNode(info.key, info.priority, owner_path(info.pod), _requests(info))
            for info in pods
        ),
    )


def _requests(info: PodInfo) -> dict[str, str]:
    requests = info.resources.requests.items()
    return {name: exact_text(name, amount) for name, amount in requests if amount}

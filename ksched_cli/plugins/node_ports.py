"""Rejects nodes where another pod uses a host port that the pod requests.

Upstream: plugins/nodeports/node_ports.go and kube-scheduler/framework/types.go (HostPortInfo).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np

from ksched_cli.cluster.pod_info import ANY_HOST, HostPort, PodInfo
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Proposal, Proposes, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    eviction,
    had_node,
    may_make_room,
    named,
    sign_host_ports,
)

STATE_KEY = "PreFilterNodePorts"
REASON = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(FilteringPlugin, Proposes):
    name = "NodePorts"
    scope = Scope.ROW

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_host_ports(pod)

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(POD, Action.DELETE), after_pod_deletion
        yield ClusterEvent(NODE, Action.ADD), None

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        if not pod.template.host_ports:
            return None, SKIP
        state.write(STATE_KEY, pod.template.host_ports)
        return None, SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        requested: tuple[HostPort, ...] = state.read(STATE_KEY)
        # The snapshot lists only the nodes that have host ports in use, which are few.
        rows = [row for row, used in nodes.snapshot.ports.items() if conflicts(requested, used)]
        if not rows:
            return Verdicts.passing(len(nodes))
        conflicting = np.zeros(len(nodes.snapshot), dtype=np.bool_)
        conflicting[rows] = True
        return Verdicts.rejecting(nodes.gather(conflicting), REASON)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        return [
            f"port {port.port}/{port.protocol} is taken by {other.key}"
            for port in pod.template.host_ports
            for other in node.pods
            if conflicts((port,), set(other.template.host_ports))
        ]

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        own = pod.template.host_ports
        holders = [each for each in node.pods if conflicts(own, set(each.template.host_ports))]
        if all(may_make_room(other, pod) for other in holders):
            yield eviction(f"evict {named(holders)}, which has the port on {node.name}", holders)
        # With the host's network, a container listens on its host port.
        if not pod.spec.host_network:
            used = {port.port for other in node.pods for port in other.template.host_ports}
            own_ports = {port.port for port in pod.template.host_ports}
            patches, texts = [], []
            for container in pod.spec.containers:
                ports = []
                for port in container.ports:
                    if port.host_port in used:
                        taken = used | own_ports
                        free = next(n for n in count(port.host_port + 1) if n not in taken)
                        own_ports.add(free)
                        ports.append({"containerPort": port.container_port, "hostPort": free})
                        texts.append(f"{free} instead of {port.host_port}")
                if ports:
                    patches.append({"name": container.name, "ports": ports})
            text = f"use the host port {' and '.join(texts)}"
            yield Proposal("port", text, patch={"spec": {"containers": patches}}, amount=len(texts))


def conflicts(requested: Iterable[HostPort], used: set[HostPort]) -> bool:
    """Return whether a requested port is in use, on the same address or with either on all
    addresses."""
    return any(
        port.port == other.port
        and port.protocol == other.protocol
        and (ANY_HOST in (port.ip, other.ip) or port.ip == other.ip)
        for port in requested
        for other in used
    )


def after_pod_deletion(pod: PodInfo, old: PodInfo, new: None) -> bool:
    """Return whether the deleted pod used a port that the pod requests."""
    return had_node(old) and conflicts(pod.template.host_ports, set(old.template.host_ports))

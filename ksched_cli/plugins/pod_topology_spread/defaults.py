"""The selector of a pod without constraints of its own: of its services, and of what owns it.

Upstream: plugins/helper/spread.go (DefaultSelector, GetPodServices).
"""

from __future__ import annotations

from ksched_cli.cluster.objects import LabelSelector
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.selectors import (
    Selector,
    SelectorError,
    label_selector,
    selector_of_map,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.topology.pod_selection import combined

REPLICATION_CONTROLLER = ("v1", "ReplicationController")
REPLICA_SET = ("apps/v1", "ReplicaSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")


def default_selector(pod: PodInfo, cluster: ClusterState) -> Selector:
    """Matches everything where the pod belongs to nothing."""
    labels: dict[str, str] = {}
    for (namespace, _), service in cluster.services.items():
        wanted = service.spec.selector
        if namespace == pod.namespace and wanted.items() <= pod.labels.items():
            labels |= wanted
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
    """A selector of the owner that cannot be parsed, or that it lacks, leaves the services'."""
    try:
        narrower = label_selector(owner)
    except SelectorError:
        return services
    return combined(services, narrower) if narrower.selectable else services

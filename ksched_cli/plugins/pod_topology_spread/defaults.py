"""The selector for the default constraints of a pod: of its services and its owner.

Upstream: plugins/helper/spread.go (DefaultSelector, GetPodServices).
"""

from __future__ import annotations

from ksched_cli.cluster.objects import LabelSelector
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.topology.pod_selection import combined
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector, selector_of_map

REPLICATION_CONTROLLER = ("v1", "ReplicationController")
REPLICA_SET = ("apps/v1", "ReplicaSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")


def default_selector(pod: PodInfo, cluster: ClusterState) -> Selector:
    """Without requirements where the pod has no service and no owner with a selector."""
    labels: dict[str, str] = {}
    for (namespace, _), service in cluster.services.items():
        selector = service.spec.selector
        if namespace == pod.namespace and selector.items() <= pod.labels.items():
            labels |= selector
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
    """Both selectors; the services' alone where the owner's is missing or does not parse."""
    try:
        owner_selector = label_selector(owner)
    except SelectorError:
        return services
    return combined(services, owner_selector) if owner_selector.selectable else services

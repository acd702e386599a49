"""The default constraints, and the selector that a pod has for them: of its services and its owner.

Upstream: plugins/podtopologyspread/plugin.go (systemDefaultConstraints), plugins/helper/spread.go
(DefaultSelector, GetPodServices).
"""

from __future__ import annotations

from ksched_cli.cluster.objects import LabelSelector, TopologySpreadConstraint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.topology.pod_selection import combined
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector, selector_of_map
from ksched_cli.plugins.pod_topology_spread import args as args_types
from ksched_cli.plugins.pod_topology_spread.constraints import HOSTNAME

REPLICATION_CONTROLLER = ("v1", "ReplicationController")
REPLICA_SET = ("apps/v1", "ReplicaSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")

SOFT = "ScheduleAnyway"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT
    ),
)


def default_constraints(
    args: args_types.PodTopologySpreadArgs,
) -> tuple[TopologySpreadConstraint, ...]:
    """Of pods without constraints of their own. Validation rejects label selectors in them."""
    if args.defaulting_type == "System":
        return SYSTEM_DEFAULTS
    return tuple(
        TopologySpreadConstraint(
            max_skew=configured.max_skew,
            topology_key=configured.topology_key,
            when_unsatisfiable=configured.when_unsatisfiable,
            min_domains=configured.min_domains,
            node_affinity_policy=configured.node_affinity_policy,
            node_taints_policy=configured.node_taints_policy,
            match_label_keys=configured.match_label_keys or (),
        )
        for configured in args.default_constraints or ()
    )


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

"""The kinds of objects that a scheduler reads, with their decoders, and with the defaults that the
API server sets and that depend on other fields. Constant defaults are in the objects' types.

Objects of resource.k8s.io/v1beta1 become v1's, in place; v1beta2 has v1's fields already.

Upstream: the informers that pkg/scheduler and its plugins use; pkg/apis/resource/v1beta1
(conversion.go); pkg/apis/{core,resource}/v1/defaults.go and the priority admission plugin
(plugin/pkg/admission/priority/admission.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster import objects
from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.objects import (
    Container,
    DeviceSubRequest,
    KubeObject,
    Namespace,
    Node,
    PodSpec,
    PriorityClass,
    ReplicationController,
    ResourceAmount,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceList,
    ResourceRequirements,
    decode_hook,
)
from ksched_cli.cluster.objects.node import ABSENT
from ksched_cli.cluster.objects.workloads import PodGroupObject
from ksched_cli.cluster.resources import (
    HUGE_PAGES_PREFIX,
    ContainerRequests,
    aggregate_containers,
    is_pod_level_resource,
)
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.json_tree import value_at

DEFAULT_SCHEDULER = "default-scheduler"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"

# Upstream: pkg/apis/scheduling/v1/helpers.go. They exist in every cluster.
_SYSTEM_CRITICAL = 2_000_000_000
SYSTEM_PRIORITIES = {
    "system-node-critical": _SYSTEM_CRITICAL + 1000,
    "system-cluster-critical": _SYSTEM_CRITICAL,
}


class UnknownPriorityClassError(LookupError):
    """A pod without a priority names a class that does not exist. name: of the class."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def default_node(node: Node) -> Node:
    """Return the node; if allocatable is absent, it is the capacity."""
    status = node.status
    if status.allocatable is not ABSENT:
        return node
    return replace(node, status=replace(status, allocatable=status.capacity))


def default_namespace(namespace: Namespace) -> Namespace:
    """Return the namespace with its name as a label, as every namespace carries it."""
    meta = namespace.metadata
    labels = {**meta.labels, NAMESPACE_NAME_LABEL: meta.name}
    return replace(namespace, metadata=replace(meta, labels=labels))


def default_replication_controller(controller: ReplicationController) -> ReplicationController:
    """Return the controller; if its selector is absent, it is the labels of the template."""
    spec = controller.spec
    if spec.selector or spec.template is None:
        return controller
    labels = spec.template.metadata.labels
    return replace(controller, spec=replace(spec, selector=labels))


def default_claim(claim: ResourceClaim) -> ResourceClaim:
    """Return the claim with its spec's defaults."""
    return replace(claim, spec=_default_claim_spec(claim.spec))


def default_claim_template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    """Return the template with the defaults of its claims' spec."""
    spec = _default_claim_spec(template.spec.spec)
    return replace(template, spec=replace(template.spec, spec=spec))


def _default_claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    """Return the spec with the allocation mode ExactCount and the count 1, where they are
    absent."""
    requests = tuple(
        replace(
            request,
            exactly=None if request.exactly is None else _default_count(request.exactly),
            first_available=tuple(_default_count(sub) for sub in request.first_available),
        )
        for request in spec.devices.requests
    )
    return replace(spec, devices=replace(spec.devices, requests=requests))


_Request = TypeVar("_Request", bound=DeviceSubRequest)


def _default_count(request: _Request) -> _Request:
    mode = request.allocation_mode or "ExactCount"
    count = request.count or (1 if mode == "ExactCount" else 0)
    return replace(request, allocation_mode=mode, count=count)


def default_pod_spec(spec: PodSpec) -> PodSpec:
    """Fill what is absent: requests are the limits, of containers and of the pod; on the host's
    network, host ports are the container ports.

    Returns `spec` itself where nothing is absent. Upstream: SetDefaults_Pod.
    """
    containers = _default_containers(spec.containers, spec.host_network)
    inits = _default_containers(spec.init_containers, spec.host_network)
    changes: dict[str, object] = {}
    if containers is not spec.containers:
        changes["containers"] = containers
    if inits is not spec.init_containers:
        changes["init_containers"] = inits
    if spec.resources is not None:
        changes["resources"] = _default_pod_level(spec.resources, containers, inits)
    if not spec.scheduler_name:
        changes["scheduler_name"] = DEFAULT_SCHEDULER
    return replace(spec, **changes) if changes else spec


def _default_containers(
    containers: tuple[Container, ...], host_network: bool
) -> tuple[Container, ...]:
    if not any(c.resources.limits or (host_network and c.ports) for c in containers):
        return containers
    filled = []
    for container in containers:
        resources, ports = container.resources, container.ports
        if resources.limits:
            requests = resources.requests
            requests = requests | {n: a for n, a in resources.limits.items() if n not in requests}
            resources = replace(resources, requests=requests)
        if host_network:
            ports = tuple(replace(p, host_port=p.host_port or p.container_port) for p in ports)
        filled.append(replace(container, resources=resources, ports=ports))
    return tuple(filled)


_limits, _requests = attrgetter("resources.limits"), attrgetter("resources.requests")


def _default_pod_level(
    resources: ResourceRequirements,
    containers: tuple[Container, ...],
    inits: tuple[Container, ...],
) -> ResourceRequirements:
    """Return the requests of the pod as a whole with their defaults. Upstream:
    defaultHugePagePodLimits, then defaultPodRequests."""
    limits, requests = dict(resources.limits), dict(resources.requests)
    if limits or requests:
        for name, amount in _aggregate(_limits, containers, inits).items():
            if name.startswith(HUGE_PAGES_PREFIX) and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        for name, amount in _aggregate(_requests, containers, inits).items():
            # Upstream: IsOvercommitAllowed.
            is_native = "/" not in name or "kubernetes.io/" in name
            may_overcommit = is_native and not name.startswith(HUGE_PAGES_PREFIX)
            if is_pod_level_resource(name) and may_overcommit:
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if is_pod_level_resource(name):
                requests.setdefault(name, amount)
    return replace(resources, limits=limits, requests=requests)


def _aggregate(
    amounts: Callable[[Container], ResourceList],
    containers: tuple[Container, ...],
    inits: tuple[Container, ...],
) -> ResourceList:
    """Add up what the containers need. amounts: returns those of one container"""
    init_requests = [ContainerRequests(amounts(c), c.is_sidecar) for c in inits]
    total = aggregate_containers(map(amounts, containers), init_requests)
    return {name: ResourceAmount.of(amount) for name, amount in total.items()}


class PriorityAdmission:
    """Sets pods' priorities from the cluster's priority classes. A pod's own priority stays."""

    def __init__(self, classes: Mapping[str, PriorityClass]) -> None:
        self._classes = classes
        defaults = [entry for entry in classes.values() if entry.global_default]
        # The API server allows only one; among several, the one with the lowest value.
        self._default = min(defaults, key=lambda entry: entry.value, default=None)
        self._admitted: dict[PodSpec, PodSpec] = {}

    def admit(self, spec: PodSpec) -> PodSpec:
        """Return the spec with priority, class and preemption policy. Equal specs give the same
        object.

        Raises UnknownPriorityClassError.
        """
        admitted = self._admitted.get(spec)
        if admitted is not None:
            return admitted
        if spec.priority_class_name:
            admitted = self._with_class(spec, spec.priority_class_name)
        elif spec.priority is not None:
            admitted = spec
        elif self._default is not None:
            admitted = self._with_class(spec, self._default.name)
        else:
            admitted = replace(spec, priority=0)
        self._admitted[spec] = admitted
        return admitted

    def _with_class(self, spec: PodSpec, name: str) -> PodSpec:
        entry = self._classes.get(name)
        value = SYSTEM_PRIORITIES.get(name) if entry is None else entry.value
        policy = spec.preemption_policy
        if entry is not None:
            policy = policy or entry.preemption_policy
        priority = value if spec.priority is None else spec.priority
        if priority is None:
            raise UnknownPriorityClassError(name)
        if spec.priority is not None and policy == spec.preemption_policy:
            return spec
        return replace(spec, priority=priority, priority_class_name=name, preemption_policy=policy)


_EXACT_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def upgrade_slice(data: dict[str, Any]) -> None:
    """Convert a slice: in v1beta1 a device's fields are in its `basic`."""
    for device in _items(data, "spec", "devices"):
        basic = device.pop("basic", None)
        if isinstance(basic, dict):
            device.update(basic)


def upgrade_claim(data: dict[str, Any]) -> None:
    """Convert a claim: in v1beta1 an exact request's fields are in the request itself. Converts
    templates too."""
    for path in (("spec",), ("spec", "spec")):
        for request in _items(data, *path, "devices", "requests"):
            exactly = {key: request.pop(key) for key in _EXACT_REQUEST_FIELDS if key in request}
            if exactly.get("deviceClassName"):
                request["exactly"] = exactly


def _items(data: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects in the list at a path; none if there is no list."""
    items = value_at(data, path)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


DRA_GROUP = "resource.k8s.io"


class ObjectKind(Struct, frozen=True, eq=False):
    """A kind of object.

    attribute: the field of ClusterState that holds the objects
    type:      of the objects
    group:     of the API; other groups have kinds of the same name (Knative's Service)
    default:   sets defaults that depend on other fields
    upgrade:   converts plain data of v1beta1 to v1, in place
    """

    attribute: str
    type: type[KubeObject]
    group: str = ""
    namespaced: bool = False
    default: Callable[[Any], KubeObject] | None = None
    upgrade: Callable[[dict[str, Any]], None] | None = None

    @property
    def name(self) -> str:
        return self.type.__name__

    def decode(self, content: bytes | msgspec.Raw) -> KubeObject:
        """Decode an object. Raises msgspec.DecodeError."""
        return _decoder(self.type).decode(content)


@cache
def _decoder(kind: type[KubeObject]) -> msgspec.json.Decoder[KubeObject]:
    """Return a kind's decoder. Creating those of all kinds takes milliseconds."""
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


_STORAGE = "storage.k8s.io"

KINDS = {
    kind.name: kind
    for kind in (
        ObjectKind("nodes", objects.Node, default=default_node),
        ObjectKind("pods", objects.Pod, namespaced=True),
        ObjectKind("namespaces", objects.Namespace, default=default_namespace),
        ObjectKind("priority_classes", objects.PriorityClass, "scheduling.k8s.io"),
        ObjectKind(
            "pod_disruption_budgets", objects.PodDisruptionBudget, "policy", namespaced=True
        ),
        ObjectKind("persistent_volumes", objects.PersistentVolume),
        ObjectKind("persistent_volume_claims", objects.PersistentVolumeClaim, namespaced=True),
        ObjectKind("storage_classes", objects.StorageClass, _STORAGE),
        ObjectKind("csi_nodes", objects.CSINode, _STORAGE),
        ObjectKind("csi_drivers", objects.CSIDriver, _STORAGE),
        ObjectKind("csi_storage_capacities", objects.CSIStorageCapacity, _STORAGE, namespaced=True),
        ObjectKind("volume_attachments", objects.VolumeAttachment, _STORAGE),
        ObjectKind("services", objects.Service, namespaced=True),
        ObjectKind(
            "replication_controllers",
            objects.ReplicationController,
            namespaced=True,
            default=default_replication_controller,
        ),
        ObjectKind("replica_sets", objects.ReplicaSet, "apps", namespaced=True),
        ObjectKind("stateful_sets", objects.StatefulSet, "apps", namespaced=True),
        ObjectKind("deployments", objects.Deployment, "apps", namespaced=True),
        ObjectKind("daemon_sets", objects.DaemonSet, "apps", namespaced=True),
        ObjectKind("jobs", objects.Job, "batch", namespaced=True),
        ObjectKind("cron_jobs", objects.CronJob, "batch", namespaced=True),
        ObjectKind(
            "resource_claims",
            objects.ResourceClaim,
            DRA_GROUP,
            namespaced=True,
            default=default_claim,
            upgrade=upgrade_claim,
        ),
        ObjectKind(
            "resource_claim_templates",
            objects.ResourceClaimTemplate,
            DRA_GROUP,
            namespaced=True,
            default=default_claim_template,
            upgrade=upgrade_claim,
        ),
        ObjectKind("resource_slices", objects.ResourceSlice, DRA_GROUP, upgrade=upgrade_slice),
        ObjectKind("device_classes", objects.DeviceClass, DRA_GROUP),
        ObjectKind("device_taint_rules", objects.DeviceTaintRule, DRA_GROUP),
    )
}


# Served only by clusters that have switched their API on.
_RARELY_SERVED = ("DeviceTaintRule",)


def resource_of(kind: str) -> str:
    """Return the name of a kind's resource, as kubectl takes it."""
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}{'es' if name[-1] == 's' else 's'}"


DUMP_COMMAND = (
    f"kubectl get {','.join(resource_of(name) for name in KINDS if name not in _RARELY_SERVED)} -A "
    "-o json > cluster.json"
)


def type_of_kind(api_version: str, name: str) -> type[KubeObject] | None:
    """Return the type that a kind's objects are decoded to, those of pod groups too."""
    kind = find_kind(api_version, name)
    if kind is not None:
        return kind.type
    is_group = kind_with_group(api_version, name) in POD_GROUP_KINDS
    return PodGroupObject if is_group else None


@lru_cache(maxsize=1024)
def find_kind(api_version: str, name: str) -> ObjectKind | None:
    """Find a kind; None if no plugin reads it. An empty api_version matches every group."""
    kind = KINDS.get(name)
    if kind is None or (api_version and api_version.rpartition("/")[0] != kind.group):
        return None
    return kind


_LISTS = {"list": "List", **{f"{name}List".lower(): f"{name}List" for name in KINDS}}
_PROPER_CASE = {name.lower(): name for name in KINDS} | _LISTS


def proper_kind(api_version: str, name: str) -> str:
    """Return the kind that ksched reads and that differs from this one by its case alone; else "".
    The API server knows no other case."""
    proper = _PROPER_CASE.get(name.lower(), "")
    if proper == name or (proper in KINDS and find_kind(api_version, proper) is None):
        return ""
    return proper


def miscased(name: str, proper: str) -> str:
    """Return the message about a kind in the wrong case."""
    return f'there is no kind "{name}"; did you mean "{proper}"?'

"""Dynamic resource allocation. Upstream: k8s.io/api/resource/v1/types.go.

Older versions of these objects are brought into this shape when they are loaded.
"""

from __future__ import annotations

import msgspec

from ksched_cli.cluster.objects.base import Int64, KubeObject, NodeSelector, ObjectMeta, Record
from ksched_cli.cluster.objects.node import Taint
from ksched_cli.cluster.objects.pod import PodCondition, Toleration
from ksched_cli.kube.quantity import Quantity


class CELDeviceSelector(Record, frozen=True):
    expression: str = ""


class DeviceSelector(Record, frozen=True):
    cel: CELDeviceSelector | None = None


class DeviceClassSpec(Record, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True):
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceAttribute(Record, frozen=True):
    """Exactly one is set; of the lists, () where it is not."""

    int_value: Int64 | None = msgspec.field(name="int", default=None)
    bool_value: bool | None = msgspec.field(name="bool", default=None)
    string_value: str | None = msgspec.field(name="string", default=None)
    version_value: str | None = msgspec.field(name="version", default=None)
    int_values: tuple[Int64, ...] = msgspec.field(name="ints", default=())
    bool_values: tuple[bool, ...] = msgspec.field(name="bools", default=())
    string_values: tuple[str, ...] = msgspec.field(name="strings", default=())
    version_values: tuple[str, ...] = msgspec.field(name="versions", default=())


class CapacityRange(Record, frozen=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityPolicy(Record, frozen=True):
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Record, frozen=True):
    value: Quantity = Quantity(0, 0)
    request_policy: CapacityPolicy | None = None


class Counter(Record, frozen=True):
    value: Quantity = Quantity(0, 0)


class CounterSet(Record, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class CounterConsumption(Record, frozen=True):
    counter_set: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Taint, frozen=True):
    """A device's taint, which has the fields of a node's."""


class DeviceToleration(Toleration, frozen=True):
    """A toleration as a pod's, with Equal as its default operator."""

    operator: str = "Equal"


class DeviceTaintSelector(Record, frozen=True):
    """None matches any driver, pool or device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Record, frozen=True):
    """device_selector: None matches no device, or up to 1.37.0 every device."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubeObject, frozen=True):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class NodeAllocatableMapping(Record, frozen=True):
    """How much of a node's resource an allocated device is: of the capacity that is consumed, or of
    the device itself."""

    capacity_key: str | None = None
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Record, frozen=True):
    """What a device takes of a node's resource for each pod, and for each of its containers."""

    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResourceMapping(Record, frozen=True):
    """A mapping as of 1.36, where both multipliers are one."""

    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class NodeAllocatableResource(Record, frozen=True):
    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Record, frozen=True):
    """node_allocatable_resource_mappings: of 1.36, in place of node_allocatable_resources"""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False
    node_allocatable_resources: dict[str, NodeAllocatableResource] = msgspec.field(
        default_factory=dict
    )
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = msgspec.field(
        default_factory=dict
    )


class ResourcePool(Record, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Record, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(KubeObject, frozen=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()


class CapacityRequirements(Record, frozen=True):
    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)


class DeviceDerivedAttribute(Record, frozen=True):
    name: str = ""
    expression: str = ""


class DeviceSubRequest(Record, frozen=True):
    """One choice of a prioritised list, and the fields that an exact request shares with it.

    count: 1 where an exact count is wanted and none is given
    """

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class ExactDeviceRequest(DeviceSubRequest, frozen=True):
    """Its name is its request's, and empty here."""

    admin_access: bool = False


class DeviceRequest(Record, frozen=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Record, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Record, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(Record, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Record, frozen=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(name="shareID", default=None)
    consumed_capacity: dict[str, Quantity] = msgspec.field(default_factory=dict)
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationResult(Record, frozen=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(Record, frozen=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class ConsumerReference(Record, frozen=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(PodCondition, frozen=True):
    """A condition of a device, which has the fields of a pod's."""


class AllocatedDeviceStatus(Record, frozen=True):
    """A driver's report about an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Record, frozen=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeObject, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Record, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True):
    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)

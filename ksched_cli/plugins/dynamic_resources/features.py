"""The features of the device allocator that a release's gates switch on.

Upstream: dynamic-resource-allocation/structured/internal/types.go (Features), allocator.go
(NewAllocator, which picks the allocator that has them); plugins/dynamicresources
(AllocatorFeatures).
"""

from __future__ import annotations

from copy import copy

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.kube.versions import Release, Rules


class AllocatorFeatures(Struct, frozen=True):
    """consumable_capacity: devices may be shared by capacity
    device_taints:           devices may have taints
    partitionable_devices:   devices may take from counters of their pool, and be of some nodes only
    binding_conditions:      devices may have conditions to wait for before the pod is bound
    fractional_range:        ranges of capacity may count in thousandths
    qualifies_names:         see Rules
    compatibility_groups:    devices that take from one counter set must have a group in common
    derived_attributes:      requests may compute attributes, which constraints compare
    optional_operations:     devices may do without operations on the node, if it declares so
    list_attributes:         constraints compare lists, and any value as a set
    shows_sharing:           selectors see whether a device may be shared, be it possible or not
    """

    consumable_capacity: bool = False
    device_taints: bool = False
    partitionable_devices: bool = False
    binding_conditions: bool = False
    fractional_range: bool = False
    shows_sharing: bool = False
    qualifies_names: bool = False
    compatibility_groups: bool = False
    derived_attributes: bool = False
    optional_operations: bool = False
    list_attributes: bool = False

    @property
    def needs_latest(self) -> bool:
        """Return whether upstream takes an allocator that knows all features that the minor has."""
        return (
            self.compatibility_groups
            or self.derived_attributes
            or self.optional_operations
            or self.list_attributes
        )

    @property
    def any_enabled(self) -> bool:
        return (
            self.consumable_capacity
            or self.device_taints
            or self.partitionable_devices
            or self.binding_conditions
            or self.needs_latest
        )

    @property
    def needs_incubating(self) -> bool:
        """Return whether upstream's stable allocator cannot do it: only the incubating one has
        distinct attributes, and refuses requests for capacity where that is off."""
        return self.consumable_capacity or self.binding_conditions or self.needs_latest


LIST_ATTRIBUTES = "DRAListTypeAttributes"
# What a node declares on which devices may do without operations.
OPTIONAL_OPERATIONS = "DRAOptionalNodeOperations"


def skipping_nodes(snapshot: Snapshot) -> Mask:
    """Return the nodes where devices may do without operations."""
    declared = (node.status.declared_features for node in snapshot.nodes)
    return np.array([OPTIONAL_OPERATIONS in features for features in declared], dtype=np.bool_)


NO_FEATURES = AllocatorFeatures()


def features_of(release: Release) -> AllocatorFeatures:
    has_status = release.enabled("DRAResourceClaimDeviceStatus")
    features = AllocatorFeatures(
        consumable_capacity=release.enabled("DRAConsumableCapacity"),
        device_taints=release.enabled("DRADeviceTaints"),
        partitionable_devices=release.enabled("DRAPartitionableDevices"),
        binding_conditions=has_status and release.enabled("DRADeviceBindingConditions"),
        fractional_range=release.enabled("DRAFractionalCapacityRange"),
        qualifies_names=release.rules.qualifies_names,
        compatibility_groups=release.enabled("DRADeviceCompatibilityGroups"),
        derived_attributes=release.enabled("DRADerivedAttributes"),
        optional_operations=release.enabled(OPTIONAL_OPERATIONS),
        list_attributes=release.enabled(LIST_ATTRIBUTES) and release.rules.compares_lists,
    )
    rules = release.rules
    shows_sharing = features.needs_incubating if rules.picks_allocator else rules.shows_sharing
    return replace(features, shows_sharing=shows_sharing)


def allocator_rules(release: Release) -> Rules:
    """Return the rules of the allocator that upstream picks for the features of a release."""
    rules, features = release.rules, features_of(release)
    if not rules.picks_allocator:
        return rules
    incubating = features.needs_incubating
    rules = copy(rules)
    rules.has_distinct_attributes = incubating
    rules.refuses_capacity_requests = incubating and not features.consumable_capacity
    rules.reads_lists = rules.reads_lists or release.enabled(LIST_ATTRIBUTES)
    return rules

"""The feature gates that ksched follows; a gate of the scheduler that is in neither set is refused
when it is set to other than its default."""

from __future__ import annotations

from collections.abc import Mapping

# Both sides are implemented.
FOLLOWED: frozenset[str] = frozenset(
    {
        "DRASchedulerFilterTimeout",
        "InPlacePodLevelResourcesVerticalScaling",
        "MatchLabelKeysInPodTopologySpread",
        "OpportunisticBatching",
        "PodLevelResources",
        "SchedulerPreQueueingHints",
        "TaintTolerationComparisonOperators",
    }
)

# Both sides are implemented in minors where the gate is on by default; in earlier ones, where it is
# alpha and its rules were others, it stays off.
FOLLOWED_FROM_BETA: frozenset[str] = frozenset(
    {
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaintRules",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAPartitionableDevices",
        "NodeDeclaredFeatures",
        "StorageCapacityScoring",
        "VolumeLimitScaling",
    }
)

# They say when API calls are made, how a queue that waits for events works, or what is traced.
INVISIBLE: frozenset[str] = frozenset(
    {
        "ClearingNominatedNodeNameAfterBinding",
        "ComponentFlagz",
        "ComponentStatusz",
        "CoordinatedLeaderElection",
        "ManagedFieldsOptOutClient",
        "NominatedNodeNameForExpectation",
        "SchedulerAsyncAPICalls",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
    }
)

# By minor: gates that are off by default of which both sides are implemented in this minor only.
FOLLOWED_IN: Mapping[str, frozenset[str]] = {
    "1.36": frozenset(
        {
            "DRAListTypeAttributes",
            "DRANodeAllocatableResources",
            "DRAWorkloadResourceClaims",
            "GangScheduling",
            "GenericWorkload",
            "TopologyAwareWorkloadScheduling",
            "WorkloadAwarePreemption",
        }
    ),
    "1.37": frozenset(
        {
            "CompositePodGroup",
            "DRADerivedAttributes",
            "DRADeviceCompatibilityGroups",
            "DRAFractionalCapacityRange",
            "DRAListTypeAttributes",
            "DRANodeAllocatableResources",
            "DRAOptionalNodeOperations",
            "DRAWorkloadResourceClaims",
            "GenericWorkload",
            "InPlacePodVerticalScalingSchedulerPreemption",
            "InterPodAffinityHostnameFastPath",
            "PodGroupPreemptionPolicy",
            "TopologyAwareWorkloadScheduling",
        }
    ),
    "1.38": frozenset(
        {
            "CompositePodGroup",
            "DRADerivedAttributes",
            "DRADeviceCompatibilityGroups",
            "DRAFractionalCapacityRange",
            "DRAListTypeAttributes",
            "DRANodeAllocatableResources",
            "DRAOptionalNodeOperations",
            "DRAWorkloadResourceClaims",
            "GenericWorkload",
            "InPlacePodVerticalScalingSchedulerPreemption",
            "InterPodAffinityHostnameFastPath",
            "TopologyAwareWorkloadScheduling",
        }
    ),
}

# Pods are scheduled in groups, and groups in groups, of which these objects tell.
POD_GROUP_GATE = "GenericWorkload"
WORKLOAD_CLAIMS_GATE = "DRAWorkloadResourceClaims"
POD_LEVEL_GATE = "PodLevelResources"
RESIZE_GATE = "InPlacePodVerticalScalingSchedulerPreemption"
PRE_QUEUEING_HINTS = "SchedulerPreQueueingHints"
COMPOSITE_GATE = "CompositePodGroup"
PLACEMENT_GATE = "TopologyAwareWorkloadScheduling"
POD_GROUP = "PodGroup.scheduling.k8s.io"
COMPOSITE_POD_GROUP = "CompositePodGroup.scheduling.k8s.io"
POD_GROUP_KINDS: frozenset[str] = frozenset({POD_GROUP, COMPOSITE_POD_GROUP})


def group_kinds(feature_gates: str) -> frozenset[str]:
    """Return those that a scheduler with this value of --feature-gates reads."""
    if COMPOSITE_GATE in feature_gates:
        return POD_GROUP_KINDS
    return frozenset({POD_GROUP} if POD_GROUP_GATE in feature_gates else ())

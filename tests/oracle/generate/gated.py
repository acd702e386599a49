"""Cases of other families under other feature gates than the default ones."""

from collections.abc import Callable

from generate import (
    batching,
    declared_features,
    device_pools,
    devices,
    extended_resources,
    resources,
    spread,
    taints,
)
from generate.world import Draft, Draw

FAMILIES: tuple[Callable[[Draw], Draft], ...] = (
    batching.generate,
    declared_features.generate,
    device_pools.generate,
    device_pools.generate,
    devices.generate,
    extended_resources.generate,
    resources.generate,
    spread.generate,
    taints.generate,
)
# These depend on it.
NODES_DECLARE_NOTHING = (
    "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"
    "InPlacePodLevelResourcesVerticalScaling=false,InPlacePodVerticalScalingInitContainers=false,"
    "RestartAllContainersOnContainerExits=false,UserNamespacesHostNetworkSupport=false"
)
PODS_REQUEST_NOTHING = (
    "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false,"
    "PodLevelResourcesFixDefaulting=false,PodLevelResourcesFixKubeletQOSClass=false"
)
GATES = (
    NODES_DECLARE_NOTHING,
    PODS_REQUEST_NOTHING,
    "DRAConsumableCapacity=false",
    "DRADeviceBindingConditions=false",
    "DRADeviceTaints=false",
    "DRAExtendedResource=false",
    "DRAPartitionableDevices=false",
    "DRASchedulerFilterTimeout=false",
    "InPlacePodLevelResourcesVerticalScaling=false",
    "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false",
    "OpportunisticBatching=false",
    "TaintTolerationComparisonOperators=true",
)


def generate(draw: Draw) -> Draft:
    draft = draw.pick(FAMILIES)(draw)
    gates = [gate for gate in GATES if draw.maybe(0.4)]
    draft.gates = ",".join(gates or [draw.pick(GATES)])
    return draft

"""The consequences for pods where a plugin that protects them is switched off.

Upstream: the plugins' own Filter; pkg/kubelet/lifecycle/predicate.go (what a kubelet rejects);
pkg/registry/core/pod/storage/storage.go (assignPod refuses pods with scheduling gates).
"""

from __future__ import annotations

from collections.abc import Mapping

# Plugin → what it no longer prevents at filter. Without one of these, pods do not run.
UNSAFE: Mapping[str, str] = {
    "NodeResourcesFit": (
        "pods are placed on nodes without room for their requests, and the kubelets reject them "
        "(OutOfcpu, OutOfmemory, OutOfpods)"
    ),
    "TaintToleration": (
        "pods are placed on nodes whose taints they do not tolerate: control planes, nodes that "
        "are not ready, nodes kept for others"
    ),
    "NodeUnschedulable": (
        "cordoned nodes take pods until their taint node.kubernetes.io/unschedulable is there, "
        "which TaintToleration alone respects"
    ),
    "VolumeBinding": (
        "pods are placed where their volumes cannot be, and claims that wait for their first "
        "consumer are never bound: the pods stay in ContainerCreating"
    ),
}

# Plugin → what pods ask for that is no longer looked at.
UNMET: Mapping[str, str] = {
    "NodeAffinity": (
        "nodeSelector and required node affinity are ignored; the kubelet rejects a pod "
        "that lands on another node (NodeAffinity)"
    ),
    "NodePorts": "host ports are ignored; the kubelet rejects a pod whose port is taken",
    "VolumeRestrictions": "two pods may be placed that use a volume for a single pod",
    "NodeVolumeLimits": "nodes are given more volumes than they can attach",
    "VolumeZone": "pods are placed in another zone than their volumes",
    "PodTopologySpread": "topologySpreadConstraints with DoNotSchedule are ignored",
    "InterPodAffinity": "required pod affinity and anti-affinity are ignored",
    "DynamicResources": "pods are placed on nodes without the devices that they claim",
    "NodeDeclaredFeatures": "pods are placed on nodes without the features that they need",
    "SchedulingGates": "pods with scheduling gates are tried, and the API server refuses each "
    "binding",
}
# Where a plugin protects, if not at filter.
POINTS: Mapping[str, str] = {"SchedulingGates": "preEnqueue"}

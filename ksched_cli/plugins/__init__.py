"""The plugins that kube-scheduler v1.34.1 brings, and the extension points of each.

Upstream: pkg/scheduler/framework/plugins/registry.go (NewInTreeRegistry) with the default feature
gates; the points are the interfaces that each plugin's Go type implements. The modules are loaded
when a plugin is made, not before.
"""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry


def _entry(name: str, module: str, points: str) -> PluginEntry:
    target = f"ksched_cli.plugins.{module}:{name}"
    return PluginEntry(name, frozenset(points.split()), "in-tree", target)


IN_TREE: tuple[PluginEntry, ...] = (
    _entry("SchedulingGates", "scheduling_gates", "preEnqueue"),
    _entry("PrioritySort", "priority_sort", "queueSort"),
    _entry("NodeUnschedulable", "node_unschedulable", "filter"),
    _entry("NodeName", "node_name", "filter"),
    _entry("TaintToleration", "taint_toleration", "filter preScore score"),
    _entry("NodeAffinity", "node_affinity", "preFilter filter preScore score"),
    _entry("NodePorts", "node_ports", "preFilter filter"),
    _entry("NodeResourcesFit", "node_resources.fit", "preFilter filter preScore score"),
    _entry("VolumeRestrictions", "volume_restrictions.plugin", "preFilter filter"),
    _entry("NodeVolumeLimits", "node_volume_limits.plugin", "preFilter filter"),
    _entry(
        "VolumeBinding", "volume_binding.plugin", "preFilter filter reserve preScore score preBind"
    ),
    _entry("VolumeZone", "volume_zone", "preFilter filter"),
    _entry("PodTopologySpread", "pod_topology_spread.plugin", "preFilter filter preScore score"),
    _entry("InterPodAffinity", "inter_pod_affinity.plugin", "preFilter filter preScore score"),
    _entry(
        "DynamicResources",
        "dynamic_resources.plugin",
        "preEnqueue preFilter filter postFilter reserve preBind",
    ),
    _entry("DefaultPreemption", "default_preemption.plugin", "preEnqueue postFilter"),
    _entry(
        "NodeResourcesBalancedAllocation", "node_resources.balanced_allocation", "preScore score"
    ),
    _entry("ImageLocality", "image_locality", "score"),
    _entry("DefaultBinder", "default_binder", "bind"),
)

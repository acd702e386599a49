"""The plugins that kube-scheduler brings, in the order of its default multiPoint list.

`registry_of` gives those that a release has, in its form of them: `IN_TREE` are at their place in
the newest minor's list, `_LATER` are what later minors append to it.

Upstream: pkg/scheduler/framework/plugins/registry.go (NewInTreeRegistry) and
apis/config/v1/default_plugins.go (getDefaultPlugins), with the default feature gates. A plugin with
args, or of several files, is a package, and the package has its descriptor. The modules that
implement the plugins are loaded when a plugin is made, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.kube.gates import POD_GROUP_GATE, group_kinds
from ksched_cli.kube.versions import Release
from ksched_cli.plugins import (
    default_preemption,
    dynamic_resources,
    inter_pod_affinity,
    node_affinity,
    node_resources,
    node_volume_limits,
    pod_topology_spread,
    volume_binding,
    volume_restrictions,
)

if TYPE_CHECKING:
    from ksched_cli.cluster.custom_objects import PodMaker


def _file(
    name: str, module: str, points: str, weight: int | None = None, short_name: str = ""
) -> PluginEntry:
    """The descriptor of a plugin without args that is one file."""
    return PluginEntry.in_tree(
        name, f"{__name__}.{module}", points, weight=weight, short_name=short_name
    )


def _gated(name: str, module: str, points: str, weight: int | None = None) -> PluginEntry:
    """The descriptor of a plugin that is named in any case, and on by default with its gate."""

    def variant(entry: PluginEntry, release: Release) -> PluginEntry:
        keys = entry.points
        if name == "GangScheduling" and release.rules.reserves_gangs:
            keys |= {"reserve"}
        gate = _GATES.get(name, name)
        if name == "GangScheduling" and release.rules.queues_groups:
            gate = POD_GROUP_GATE
        is_enabled = release.enabled(gate)
        return replace(entry, points=keys, enabled_by_default=is_enabled)

    return replace(_file(name, module, points, weight), variant=variant)


def _pre_filtering(entry: PluginEntry) -> PluginEntry:
    """The descriptor of a plugin that extends PreFilter in later minors."""

    def variant(entry: PluginEntry, release: Release) -> PluginEntry:
        if not release.rules.pre_filters_node_name:
            return entry
        module, _, name = str(entry.target).partition(":")
        target = f"{module}:PreFiltering{name}"
        return replace(entry, target=target, points=entry.points | {"preFilter"})

    return replace(entry, variant=variant)


# Where a plugin and the feature gate that enables it have different names.
_GATES = {
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
    "DeferredPodScheduling": "InPlacePodVerticalScalingSchedulerPreemption",
}

IN_TREE: tuple[PluginEntry, ...] = (
    _file("SchedulingGates", "scheduling_gates", "preEnqueue"),
    _file("PrioritySort", "priority_sort", "queueSort"),
    _pre_filtering(_file("NodeName", "node_name", "filter")),
    _pre_filtering(_file("NodeUnschedulable", "node_unschedulable", "filter")),
    _pre_filtering(
        _file("TaintToleration", "taint_toleration", "filter preScore score", 3, "Taint")
    ),
    node_affinity.DESCRIPTOR,
    _file("NodePorts", "node_ports", "preFilter filter"),
    _gated("DeferredPodScheduling", "deferred_pod_scheduling", "preFilter filter permit"),
    node_resources.FIT,
    volume_restrictions.DESCRIPTOR,
    node_volume_limits.DESCRIPTOR,
    volume_binding.DESCRIPTOR,
    _file("VolumeZone", "volume_zone", "preFilter filter"),
    pod_topology_spread.DESCRIPTOR,
    inter_pod_affinity.DESCRIPTOR,
    dynamic_resources.DESCRIPTOR,
    default_preemption.DESCRIPTOR,
    node_resources.BALANCED_ALLOCATION,
    _file("ImageLocality", "image_locality", "score", 1, "Image"),
    _file("DefaultBinder", "default_binder", "bind"),
)


# The plugins of later minors, in the order in which their default lists append them.
_LATER: tuple[PluginEntry, ...] = (
    _gated("NodeDeclaredFeatures", "node_declared_features", "preFilter filter"),
    _gated("GangScheduling", "gang_scheduling", "preEnqueue permit"),
    _gated("TopologyPlacementGenerator", "topology_placement", "placementGenerate"),
    _gated("PodGroupPodsCount", "pod_group_pods_count", "placementScore", 1),
)


def registry_of(
    release: Release,
    others: Iterable[PluginEntry] = (),
    pod_makers: Mapping[str, PodMaker] | None = None,
) -> Registry:
    """The in-tree plugins of a release, and others that are not in-tree. pod_makers: theirs"""
    rules = release.rules
    in_tree = [
        entry.in_release(release)
        for entry in (*IN_TREE, *_LATER)
        if entry.name not in rules.absent_plugins
    ]
    if not rules.pre_filters_node_name:
        names = [entry.name for entry in in_tree]
        in_tree.insert(names.index("NodeUnschedulable"), in_tree.pop(names.index("NodeName")))
    return Registry((*in_tree, *others), release, pod_makers)


def kinds_read(registry: Registry, feature_gates: str) -> frozenset[str]:
    """The kinds of custom objects that plugins read, and PodGroups where a feature gate asks."""
    return registry.reads | group_kinds(feature_gates)


def short_names(entries: Iterable[PluginEntry] = IN_TREE) -> dict[str, str]:
    """Plugin name → heading of its column in a table, for those that have one of their own."""
    return {entry.name: entry.short_name for entry in entries if entry.short_name}

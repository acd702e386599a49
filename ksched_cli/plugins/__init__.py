"""The plugins that kube-scheduler brings, in the order of its default multiPoint list.

`registry_of` gives those that a release has, in its form of them: `IN_TREE` are at their place in
the newest minor's list, `_LATER` are what later minors append to it.

Upstream: pkg/scheduler/framework/plugins/registry.go (NewInTreeRegistry) and
apis/config/v1/default_plugins.go (getDefaultPlugins), with the default feature gates. The modules
that implement the plugins are loaded when a plugin is made, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.kube.gates import PLACEMENT_GATE, POD_GROUP_GATE, group_kinds
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.plugins.args import ARGS_OF, STORAGE_CAPACITY_SCORING

if TYPE_CHECKING:
    from ksched_cli.cluster.custom_objects import PodMaker


def _plugin(
    name: str, module: str, points: str, weight: int | None = None, short_name: str = ""
) -> PluginEntry:
    """Return the descriptor of a plugin. points: in all releases"""
    args = ARGS_OF[name](release_of()) if name in ARGS_OF else None
    return PluginEntry.in_tree(
        name,
        f"{__name__}.{module}",
        points,
        weight=weight,
        short_name=short_name,
        args=args,
        variant=_in_release,
    )


def _in_release(entry: PluginEntry, release: Release) -> PluginEntry:
    """Return the descriptor of the plugin as a release has it."""
    if entry.name in ARGS_OF:
        entry = replace(entry, in_tree_args=ARGS_OF[entry.name](release))
    variant = _VARIANTS.get(entry.name)
    return entry if variant is None else variant(entry, release)


# -- what differs between releases -----------------------------------------------------------------


def _with_points(entry: PluginEntry, release: Release, *points: str) -> PluginEntry:
    """Return the entry with further extension points, of those that the release has."""
    return replace(entry, points=entry.points | set(points) - release.rules.absent_points)


def _with_class(entry: PluginEntry, name: str, module: str = "") -> PluginEntry:
    """Return the entry with another class. module: the name of another one in the same package"""
    target = str(entry.target).partition(":")[0]
    if module:
        target = f"{target.rpartition('.')[0]}.{module}"
    return replace(entry, target=f"{target}:{name}")


def _gated(entry: PluginEntry, release: Release) -> PluginEntry:
    """Return the plugin as the release has it: named in any case, and on by default with its
    gate."""
    gate = _GATES.get(entry.name, entry.name)
    if entry.name == "GangScheduling":
        points = {"placementFeasible"} if release.rules.tells_feasible_placements else {"permit"}
        if release.rules.reserves_gangs:
            points.add("reserve")
        entry = replace(entry, points=entry.points | points)
        if release.rules.tracks_readiness:
            entry = _with_class(entry, "TrackingGangScheduling")
        if release.rules.queues_groups:
            gate = POD_GROUP_GATE
    return replace(entry, enabled_by_default=release.enabled(gate))


# Where a plugin and the feature gate that enables it have different names.
_GATES = {
    "TopologyPlacementGenerator": PLACEMENT_GATE,
    "PodGroupPodsCount": PLACEMENT_GATE,
    "DeferredPodScheduling": "InPlacePodVerticalScalingSchedulerPreemption",
}


def _pre_filtering(entry: PluginEntry, release: Release) -> PluginEntry:
    """Return the plugin extends PreFilter in later minors."""
    if not release.rules.pre_filters_node_name:
        return entry
    entry = _with_class(entry, f"PreFiltering{entry.name}")
    return replace(entry, points=entry.points | {"preFilter"})


def _fit(entry: PluginEntry, release: Release) -> PluginEntry:
    if release.enabled("DRAExtendedResource"):
        entry = _with_class(entry, "DelegatingFit", "device_resources")
    return _with_points(entry, release, "placementScore")


def _balanced_allocation(entry: PluginEntry, release: Release) -> PluginEntry:
    if not release.rules.balances_change:
        return entry
    if release.enabled("DRAExtendedResource"):
        return _with_class(entry, "DelegatingBalance", "device_resources")
    return _with_class(entry, "BalanceChange")


def _volume_binding(entry: PluginEntry, release: Release) -> PluginEntry:
    scores = release.enabled(STORAGE_CAPACITY_SCORING)
    return _with_class(entry, "ScoringVolumeBinding") if scores else entry


def _dynamic_resources(entry: PluginEntry, release: Release) -> PluginEntry:
    if not release.rules.scores_devices:
        return entry
    has_extended = release.enabled("DRAExtendedResource")
    name = "ExtendedDynamicResources" if has_extended else "ScoringDynamicResources"
    entry = replace(_with_class(entry, name), default_weight=2)
    return _with_points(entry, release, "score", "podGroupPostFilter")


def _default_preemption(entry: PluginEntry, release: Release) -> PluginEntry:
    entry = _with_points(entry, release, "podGroupPostFilter")
    if not release.rules.tells_feasible_placements:
        return entry
    entry = replace(
        _with_class(entry, "ReservingPreemption"),
        is_off_at_reserve=not release.enabled(POD_GROUP_GATE),
    )
    return _with_points(entry, release, "reserve")


_VARIANTS: dict[str, Callable[[PluginEntry, Release], PluginEntry]] = {
    **dict.fromkeys(("NodeName", "NodeUnschedulable", "TaintToleration"), _pre_filtering),
    **dict.fromkeys(("NodeDeclaredFeatures", "GangScheduling", *_GATES), _gated),
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "VolumeBinding": _volume_binding,
    "DynamicResources": _dynamic_resources,
    "DefaultPreemption": _default_preemption,
}


# -- the plugins -----------------------------------------------------------------------------------

IN_TREE: tuple[PluginEntry, ...] = (
    _plugin("SchedulingGates", "scheduling_gates", "preEnqueue"),
    _plugin("PrioritySort", "priority_sort", "queueSort"),
    _plugin("NodeName", "node_name", "filter"),
    _plugin("NodeUnschedulable", "taint_toleration", "filter"),
    _plugin("TaintToleration", "taint_toleration", "filter preScore score", 3, "Taint"),
    _plugin("NodeAffinity", "node_affinity", "preFilter filter preScore score", 2, "NodeAff"),
    _plugin("NodePorts", "node_ports", "preFilter filter"),
    _plugin("DeferredPodScheduling", "deferred_pod_scheduling", "preFilter filter permit"),
    _plugin("NodeResourcesFit", "node_resources.fit", "preFilter filter preScore score", 1, "Fit"),
    _plugin("VolumeRestrictions", "volume_restrictions", "preFilter filter"),
    _plugin("NodeVolumeLimits", "node_volume_limits", "preFilter filter"),
    _plugin(
        "VolumeBinding",
        "volume_binding.plugin",
        "preFilter filter reserve preScore score preBind",
        short_name="Volume",
    ),
    _plugin("VolumeZone", "volume_zone", "preFilter filter"),
    _plugin(
        "PodTopologySpread", "pod_topology_spread", "preFilter filter preScore score", 2, "Spread"
    ),
    _plugin(
        "InterPodAffinity", "inter_pod_affinity", "preFilter filter preScore score", 2, "PodAff"
    ),
    _plugin(
        "DynamicResources",
        "dynamic_resources.plugin",
        "preEnqueue preFilter filter postFilter reserve preBind",
        short_name="Devices",
    ),
    _plugin("DefaultPreemption", "default_preemption.plugin", "preEnqueue postFilter"),
    _plugin(
        "NodeResourcesBalancedAllocation",
        "node_resources.scoring",
        "preScore score",
        1,
        "Balance",
    ),
    _plugin("ImageLocality", "image_locality", "score", 1, "Image"),
    _plugin("DefaultBinder", "default_binder", "bind"),
)

# The plugins of later minors, in the order in which their default lists append them.
_LATER: tuple[PluginEntry, ...] = (
    _plugin("NodeDeclaredFeatures", "node_declared_features", "preFilter filter"),
    _plugin("GangScheduling", "gang_scheduling", "preEnqueue"),
    _plugin("TopologyPlacementGenerator", "gang_scheduling", "placementGenerate"),
    _plugin("PodGroupPodsCount", "gang_scheduling", "placementScore", 1),
)


def registry_of(
    release: Release,
    others: Iterable[PluginEntry] = (),
    pod_makers: Mapping[str, PodMaker] | None = None,
) -> Registry:
    """Return the in-tree plugins of a release, and others that are not in-tree. pod_makers:
    theirs"""
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
    """Return the kinds of custom objects that plugins read, and PodGroups where a feature gate
    asks."""
    return registry.reads | group_kinds(feature_gates)


def short_names(entries: Iterable[PluginEntry] = IN_TREE) -> dict[str, str]:
    """Return plugin name → heading of its column in a table, for those that have one of their
    own."""
    return {entry.name: entry.short_name for entry in entries if entry.short_name}

"""The defaults of the versions before v1, and how they merged a file with them.

Each is that of the last release that reads it. Upstream: pkg/scheduler/apis/config/v1beta1 (v1.22),
v1beta2 (v1.27), v1beta3 (v1.28): default_plugins.go and defaults.go; the plugins' own types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ksched_cli.config.allowed_plugins import NamedPlugins, PluginWithoutCode
from ksched_cli.config.effective import KnownPlugin, KnownPlugins


@dataclass(frozen=True, slots=True)
class OldVersion:
    """default_points: plugin name → the points at which it runs by default, in the order of the
    plugins; default_weights: other than 1; points: of every plugin, all that it extends;
    replaces_defaults: a default plugin that the file enables is set anew, not there twice;
    unread_points: keys that the version took and did not mind
    """

    name: str
    release: str
    default_points: Mapping[str, tuple[str, ...]]
    default_weights: Mapping[str, int]
    points: Mapping[str, tuple[str, ...]]
    has_multi_point: bool = False
    replaces_defaults: bool = True
    unread_points: tuple[str, ...] = ()

    def plugins(self, registry: KnownPlugins) -> NamedPlugins:
        """The in-tree plugins of this version, and those of other builds that the registry has."""
        foreign = {
            name: plugin
            for name, plugin in registry.items()
            if plugin.origin != "in-tree" and name not in self.points
        }
        in_tree: dict[str, KnownPlugin] = {
            name: PluginWithoutCode(
                name,
                frozenset(points),
                enabled_by_default=name in self.default_points,
                default_weight=self.default_weights.get(name),
            )
            for name, points in self.points.items()
        }
        return NamedPlugins(registry.release, {**in_tree, **foreign})


def _split(text: str) -> dict[str, tuple[str, ...]]:
    """Splits lines `NAME: POINT POINT`."""
    pairs = (line.split(":") for line in text.strip().splitlines())
    return {name.strip(): tuple(points.split()) for name, points in pairs}


# VolumeBinding scores behind a gate that was off (VolumeCapacityPriority): it is left out here.
_IN_1_22 = _split("""
    PrioritySort: queueSort
    NodeUnschedulable: filter
    NodeName: filter
    TaintToleration: filter preScore score
    NodeAffinity: preFilter filter preScore score
    NodePorts: preFilter filter
    NodeResourcesFit: preFilter filter score
    VolumeRestrictions: preFilter filter
    EBSLimits: filter
    GCEPDLimits: filter
    NodeVolumeLimits: filter
    AzureDiskLimits: filter
    VolumeBinding: preFilter filter reserve preBind
    VolumeZone: filter
    PodTopologySpread: preFilter filter preScore score
    InterPodAffinity: preFilter filter preScore score
    DefaultPreemption: postFilter
    NodeResourcesBalancedAllocation: score
    ImageLocality: score
    DefaultBinder: bind
""")
_EXTRA_IN_1_22 = _split("""
    CinderLimits: filter
    NodeLabel: filter score
    NodePreferAvoidPods: score
    NodeResourcesLeastAllocated: score
    NodeResourcesMostAllocated: score
    RequestedToCapacityRatio: score
    SelectorSpread: preScore score
    ServiceAffinity: preFilter filter score
""")
_SINCE_1_23 = _split("""
    NodeResourcesFit: preFilter filter preScore score
    VolumeZone: preFilter filter
    NodeResourcesBalancedAllocation: preScore score
""")
_LIMITS_IN_1_28 = _split("""
    EBSLimits: preFilter filter
    GCEPDLimits: preFilter filter
    NodeVolumeLimits: preFilter filter
    AzureDiskLimits: preFilter filter
    CinderLimits: preFilter filter
""")
_EXTRA_SINCE_1_23 = _split("""
    CinderLimits: filter
    SelectorSpread: preScore score
""")
_IN_1_27 = {**_IN_1_22, **_SINCE_1_23}
_IN_1_28 = {
    **_IN_1_27,
    **{name: points for name, points in _LIMITS_IN_1_28.items() if name in _IN_1_27},
}

V1BETA1 = OldVersion(
    "v1beta1",
    "v1.22",
    {
        **_IN_1_22,
        "NodeResourcesFit": ("preFilter", "filter"),
        "NodeResourcesLeastAllocated": ("score",),
        "NodePreferAvoidPods": ("score",),
    },
    {"NodePreferAvoidPods": 10_000, "PodTopologySpread": 2},
    {**_IN_1_22, **_EXTRA_IN_1_22},
    replaces_defaults=False,
    unread_points=("multiPoint", "preEnqueue"),
)
V1BETA2 = OldVersion(
    "v1beta2",
    "v1.27",
    _IN_1_27,
    {"PodTopologySpread": 2},
    {**_IN_1_27, **_EXTRA_SINCE_1_23},
    unread_points=("multiPoint", "preEnqueue"),
)
V1BETA3 = OldVersion(
    "v1beta3",
    "v1.28",
    _IN_1_28,
    {"TaintToleration": 3, "NodeAffinity": 2, "PodTopologySpread": 2, "InterPodAffinity": 2},
    {**_IN_1_28, **_EXTRA_SINCE_1_23, **_LIMITS_IN_1_28},
    has_multi_point=True,
)
OLD_VERSIONS: Mapping[str, OldVersion] = {
    version.name: version for version in (V1BETA1, V1BETA2, V1BETA3)
}
# A Policy file, as the same release read it: its plugins are v1beta1's.
POLICY = V1BETA1

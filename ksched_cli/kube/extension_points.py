"""The extension points: one table that configuration, registry and runtime all read.

The last three are those of later minors (kube.versions, Rules.absent_points); pod groups are placed
there.

Upstream: pkg/scheduler/framework/interface.go (the plugin interfaces) and
pkg/scheduler/framework/runtime/framework.go (getExtensionPoints, whose order this is).
"""

from __future__ import annotations

from msgspec import Struct


class ExtensionPoint(Struct, frozen=True):
    """key: as in a configuration; interface: Go's interface, as upstream's messages name it."""

    key: str
    interface: str


POINTS: tuple[ExtensionPoint, ...] = (
    ExtensionPoint("preFilter", "PreFilterPlugin"),
    ExtensionPoint("filter", "FilterPlugin"),
    ExtensionPoint("postFilter", "PostFilterPlugin"),
    ExtensionPoint("reserve", "ReservePlugin"),
    ExtensionPoint("preScore", "PreScorePlugin"),
    ExtensionPoint("score", "ScorePlugin"),
    ExtensionPoint("preBind", "PreBindPlugin"),
    ExtensionPoint("bind", "BindPlugin"),
    ExtensionPoint("postBind", "PostBindPlugin"),
    ExtensionPoint("permit", "PermitPlugin"),
    ExtensionPoint("preEnqueue", "PreEnqueuePlugin"),
    ExtensionPoint("queueSort", "QueueSortPlugin"),
    ExtensionPoint("placementGenerate", "PlacementGeneratePlugin"),
    ExtensionPoint("placementScore", "PlacementScorePlugin"),
    ExtensionPoint("podGroupPostFilter", "PodGroupPostFilterPlugin"),
)

POINT_KEYS: tuple[str, ...] = tuple(point.key for point in POINTS)

# Where pod groups are placed, behind a feature gate.
POD_GROUP_POINTS: tuple[str, ...] = (
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)

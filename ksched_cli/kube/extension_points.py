"""The extension points, which configuration, registry and runtime all read.

The last four are those of later minors (kube.versions, Rules.absent_points); pod groups are placed
there.

Upstream: pkg/scheduler/framework/interface.go (the plugin interfaces) and
pkg/scheduler/framework/runtime/framework.go (getExtensionPoints, whose order this is).
"""

from __future__ import annotations

# Where pod groups are placed, behind a feature gate.
POD_GROUP_POINTS = (
    "placementGenerate",
    "placementScore",
    "placementFeasible",
    "podGroupPostFilter",
)

# As in a configuration.
POINT_KEYS: tuple[str, ...] = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    *POD_GROUP_POINTS,
)


def interface_of(point: str) -> str:
    """Return Go's interface of a point, as upstream's messages name it: PreFilterPlugin of
    preFilter."""
    return f"{point[0].upper()}{point[1:]}Plugin"

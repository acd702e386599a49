"""Plugins that place groups of pods by topology: a configuration may name them, and they do nothing
while the feature gate TopologyAwareWorkloadScheduling is off, as it is by default. ksched does not
implement it.

Upstream: plugins/topologyaware, plugins/podgrouppodscount.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Plugin


class TopologyPlacementGenerator(Plugin):
    """Placements of pod groups."""

    name = "TopologyPlacementGenerator"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass


class PodGroupPodsCount(Plugin):
    """Scores of placements of pod groups."""

    name = "PodGroupPodsCount"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

"""A placement of pod groups: as a whole in one rack, in the fullest one that the group fits in."""

from collections.abc import Sequence

import numpy as np

from ksched_cli.api import (
    SUCCESS,
    GroupKey,
    Nodes,
    Placement,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodInfo,
    Status,
)

RACK = "example.com/rack"


class FullestRack(PlacementGeneratePlugin, PlacementScorePlugin):
    """Nodes without a rack take no group."""

    name = "FullestRack"

    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        rows_of: dict[str, list[int]] = {}
        for node in Nodes(self.handle.snapshot, parent.rows):
            if RACK in node.labels:
                rows_of.setdefault(node.labels[RACK], []).append(node.row)
        return [Placement(rack, np.array(rows)) for rack, rows in sorted(rows_of.items())], SUCCESS

    def score_placement(self, key: GroupKey, placement: Placement, pods: Sequence[PodInfo]) -> int:
        """The share of the rack's cpu that is requested, without that of the group."""
        snapshot = self.handle.snapshot
        used = int(snapshot.requested("cpu")[placement.rows].sum())
        return 100 * used // max(1, int(snapshot.allocatable("cpu")[placement.rows].sum()))

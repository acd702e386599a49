"""The outcome of a search for victims on several nodes, as columns.

The victims themselves are listed only where somebody reads them.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.node_columns import Mask, Rows
from ksched_cli.framework.preemption import Victims
from ksched_cli.plugins.default_preemption.importance import sort_by_importance
from ksched_cli.plugins.default_preemption.lower_pods import LowerPods, PodColumns


class Reprieve(Struct, frozen=True):
    """The pods put back on several nodes, and those that may not stay.

    lower:    in the order they are put back
    numbers:  the same pods, those of a node in order of importance
    starts:   per node, where its pods begin in `lower`
    violates: per pod, whether its eviction violates a budget
    evicted:  per pod, whether it is a victim
    """

    columns: PodColumns
    lower: LowerPods
    numbers: Rows
    starts: Rows
    violates: Mask
    evicted: Mask

    def victims(self, index: int) -> Victims:
        """One node's victims. index: among the nodes"""
        start = self.starts.item(index)
        entries = slice(start, start + self.lower.counts.item(index))
        evicted, violates = self.evicted[entries], self.violates[entries]
        pods = [self.columns.pods[i] for i in self.lower.numbers[entries][evicted].tolist()]
        if violates.any() and not violates.all():
            ordered = [self.columns.pods[i] for i in self.numbers[entries].tolist()]
            sort_by_importance(pods, ordered if self.columns.ages_once else None)
        return Victims(tuple(pods), int(np.count_nonzero(violates & evicted)))


class NodeReprieve(Struct):
    """One node of a Reprieve; a VictimsSource."""

    reprieve: Reprieve
    index: int

    def victims(self) -> Victims:
        return self.reprieve.victims(self.index)

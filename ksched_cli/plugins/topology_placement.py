"""Divides the nodes by the topology key that a pod group asks for: it goes to one domain.

Upstream: plugins/topologyaware/topology_placement.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import PlacementGeneratePlugin
from ksched_cli.framework.pod_groups import GroupKey, Placement
from ksched_cli.framework.status import SUCCESS, PluginError, Status


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    name = "TopologyPlacementGenerator"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._groups = handle.pod_groups

    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        """Generate placements. Where pods of the group have nodes already, only their domain is
        one."""
        group = self._groups.groups.get(key) if self._groups is not None else None
        if group is None:
            return (), Status.error(f'podgroup.scheduling.k8s.io "{key[1]}" not found')
        if not group.topology_key:
            return (parent,), SUCCESS
        column = self._snapshot.labels[group.topology_key]
        codes = column.codes[parent.rows]
        try:
            domain = self._domain_of(key, group.topology_key)
        except PluginError as error:
            message = f"cannot determine domain for already scheduled pods: {error}"
            return (), Status.error(message)
        values = {
            code: column.values[code] for code in np.unique(codes).tolist() if code != MISSING
        }
        placements = [
            Placement(name, parent.rows[codes == code])
            for code, name in values.items()
            if domain is None or name == domain
        ]
        return sorted(placements, key=lambda placement: placement.name), SUCCESS

    def _domain_of(self, key: GroupKey, topology_key: str) -> str | None:
        """The one domain that the group's pods are in, None where none has a node. Raises
        PluginError."""
        column = self._snapshot.labels[topology_key]
        domain: str | None = None
        for pod, row in self._groups.placed_pods(key) if self._groups is not None else ():
            code = column.codes.item(row)
            if code == MISSING:
                raise PluginError(f"no topology domain found for pod {pod.key}")
            name = column.values[code]
            if domain is not None and name != domain:
                raise PluginError(f"more than 1 domain found for pod group: {domain}, {name}")
            domain = name
        return domain

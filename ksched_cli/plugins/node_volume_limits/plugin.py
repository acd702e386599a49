"""Rejects nodes that would have more volumes of a CSI driver than its CSINode allows.

Upstream: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Scope,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.node_volume_limits.attached_volumes import (
    AttachedVolumes,
    ClaimMissingError,
    Drivers,
    VolumeNames,
    is_counted,
    migrations,
    spoken,
)
from ksched_cli.plugins.node_volume_limits.csi_nodes import NO_LIMIT, csi_nodes

SHARED_KEY = "attached_volumes"
REASON = Status.unschedulable("node(s) exceed max volume count")


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, Explains):
    name = "NodeVolumeLimits"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle
        self._names = VolumeNames(handle.cluster)
        self._csi_nodes = csi_nodes(handle)

    def scope_for(self, pod: PodInfo) -> Scope:
        """The claim of an ephemeral volume has the pod's name in its own."""
        volumes = pod.spec.volumes
        if any(volume.ephemeral is not None for volume in volumes):
            return Scope.CLUSTER
        return Scope.ROW if any(is_counted(volume) for volume in volumes) else Scope.NODE

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        counted = any(is_counted(volume) for volume in pod.spec.volumes)
        return None, SUCCESS if counted else SKIP

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        limited = nodes.gather(self._csi_nodes.limited)
        for migration, mask in migrations(self._csi_nodes):
            asked = nodes.gather(mask)
            try:
                wanted = self._names.of_pod(pod.pod, migration, new=True)
            except ClaimMissingError as missing:
                verdicts.reject(asked, Status.unresolvable(str(missing)))
            except PluginError as problem:
                verdicts.reject(asked, Status.error(str(problem)))
            else:
                asked = asked & limited
                if wanted and asked.any():
                    self._compare(wanted, nodes, asked, verdicts)
        return verdicts

    def _compare(self, wanted: Drivers, nodes: Nodes, asked: Mask, verdicts: Verdicts) -> None:
        attached = self._attached(nodes)
        for row, fault in attached.faults().items():
            verdicts.reject(asked & (nodes.indices() == row), Status.error(fault))
        over = np.zeros(len(nodes), dtype=np.bool_)
        for driver in set(wanted.values()):
            limits = self._csi_nodes.limits(driver)
            if limits is None:
                continue
            added = attached.missing(name for name, of in wanted.items() if of == driver)
            too_many = (limits != NO_LIMIT) & (attached.count(driver) + added > limits)
            over |= nodes.gather(too_many & (added > 0))
        verdicts.reject(asked & over, REASON)

    def _attached(self, nodes: Nodes) -> AttachedVolumes:
        """What is on the nodes as they are asked about."""
        attached: AttachedVolumes | None = self._handle.shared.get(SHARED_KEY)
        if attached is None:
            attached = AttachedVolumes.following(self._handle, self._names)
            self._handle.shared[SHARED_KEY] = attached
        return attached.seen_by(nodes)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        (migration,) = (one for one, mask in migrations(self._csi_nodes) if mask[node.row])
        try:
            wanted = self._names.of_pod(pod.pod, migration, new=True)
        except (ClaimMissingError, PluginError):
            return []  # the reason has said it
        nodes = Nodes(node.snapshot, np.array([node.row], dtype=np.intp))
        return self._over(wanted, self._attached(nodes), node)

    def _over(self, wanted: Drivers, attached: AttachedVolumes, node: NodeInfo) -> list[str]:
        """One line per driver with too many volumes."""
        lines = []
        for driver in sorted(set(wanted.values())):
            limits = self._csi_nodes.limits(driver)
            names = [name for name, of in wanted.items() if of == driver]
            added = int(attached.missing(names)[node.row])
            count = int(attached.count(driver)[node.row])
            if limits is None or limits[node.row] == NO_LIMIT or not added:
                continue
            limit = int(limits[node.row])
            if count + added > limit:
                news = ", ".join(
                    spoken(name, driver)
                    for name in names
                    if node.row not in attached.users.get(name, ())
                )
                lines.append(
                    f"{driver}: {count} of {limit} volumes are taken, {added} more wanted: {news}"
                )
        return lines

"""The nodes' CSINode objects as columns: volume limits per driver, plugins migrated to CSI.

Upstream: plugins/nodevolumelimits/{csi,utils}.go, plugins/volumebinding/binder.go
(isPluginMigratedToCSIOnNode).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ksched_cli.cluster.objects import CSINode
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.framework.handle import Handle
from ksched_cli.plugins.volumes.csi_migration import MIGRATED_PLUGINS, PORTWORX

NO_LIMIT = -1


class CSINodes:
    """A service.

    has_csi_node: the nodes that have a CSINode
    limited:      those of them with a limit for any driver
    has_limits:   whether there are any of these
    portworx:     those where volumes of Portworx count as volumes of its CSI driver
    installed:    driver → the nodes whose CSINode lists it
    migrated:     in-tree plugin → the nodes that list it as migrated; any_migrated: is there any
    """

    def __init__(self, handle: Handle) -> None:
        rows = handle.snapshot.row
        objects = handle.cluster.csi_nodes
        self._csi_nodes = {rows[name]: node for name, node in objects.items() if name in rows}
        self._count = len(handle.snapshot)
        self._limits: dict[str, Column] = {}
        self.installed: Callable[[str], Mask] = cache(self._installed)
        self.migrated: Callable[[str], Mask] = cache(self._migrated)
        self.any_migrated: Callable[[str], bool] = cache(
            lambda name: bool(self.migrated(name).any())
        )
        self.has_csi_node = self._mask(list(self._csi_nodes))
        self.limited = np.zeros(self._count, dtype=np.bool_)
        for row, node in self._csi_nodes.items():
            for driver in node.spec.drivers:
                if driver.allocatable is None or driver.allocatable.count is None:
                    continue
                column = self._limits.get(driver.name)
                if column is None:
                    column = np.full(self._count, NO_LIMIT, dtype=np.int64)
                    self._limits[driver.name] = column
                column[row] = driver.allocatable.count
                self.limited[row] = True
        self.has_limits = bool(self._limits)
        always = handle.release.rules.migrates_portworx
        self.portworx = self.has_csi_node if always else self.migrated(PORTWORX.name)

    def limits(self, driver: str) -> Column | None:
        """The driver's volume limit per node, or NO_LIMIT; None: no node has one."""
        return self._limits.get(driver)

    def _installed(self, driver: str) -> Mask:
        nodes = self._csi_nodes.items()
        return self._mask(
            [row for row, node in nodes if any(d.name == driver for d in node.spec.drivers)]
        )

    def _migrated(self, plugin: str) -> Mask:
        nodes = self._csi_nodes.items()
        return self._mask([row for row, node in nodes if plugin in _migrated_plugins(node)])

    def _mask(self, rows: list[int]) -> Mask:
        mask = np.zeros(self._count, dtype=np.bool_)
        mask[rows] = True
        return mask


def _migrated_plugins(node: CSINode) -> list[str]:
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")

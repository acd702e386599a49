"""The number of volumes of a driver that a node can attach."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry

DESCRIPTOR = PluginEntry.in_tree("NodeVolumeLimits", f"{__name__}.plugin", "preFilter filter")

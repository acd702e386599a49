"""Volumes that several pods cannot use at once."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry

DESCRIPTOR = PluginEntry.in_tree("VolumeRestrictions", f"{__name__}.plugin", "preFilter filter")

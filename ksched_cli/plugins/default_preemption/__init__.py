"""Eviction of pods of lower priority, where a pod fits nowhere."""

from __future__ import annotations

from dataclasses import replace

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.versions import Release
from ksched_cli.plugins.default_preemption.args import ARGS


def _variant(entry: PluginEntry, release: Release) -> PluginEntry:
    if "podGroupPostFilter" in release.rules.absent_points:
        return entry
    return replace(entry, points=entry.points | {"podGroupPostFilter"})


DESCRIPTOR = PluginEntry.in_tree(
    "DefaultPreemption",
    f"{__name__}.plugin",
    "preEnqueue postFilter",
    args=ARGS,
    variant=_variant,
)

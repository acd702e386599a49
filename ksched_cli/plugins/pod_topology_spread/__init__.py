"""Spreading of pods over topology domains."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.pod_topology_spread.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "PodTopologySpread",
    f"{__name__}.plugin",
    "preFilter filter preScore score",
    weight=2,
    short_name="Spread",
    args=ARGS,
)

"""Affinity and anti-affinity between pods."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.inter_pod_affinity.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "InterPodAffinity",
    f"{__name__}.plugin",
    "preFilter filter preScore score",
    weight=2,
    short_name="PodAff",
    args=ARGS,
)

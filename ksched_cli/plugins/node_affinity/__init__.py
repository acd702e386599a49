"""Node selectors, and required and preferred node affinity."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.node_affinity.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "NodeAffinity",
    f"{__name__}.plugin",
    "preFilter filter preScore score",
    weight=2,
    short_name="NodeAff",
    args=ARGS,
)

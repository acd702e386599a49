"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.node_resources import balanced_allocation_args, fit_args

FIT = PluginEntry.in_tree(
    "NodeResourcesFit",
    f"{__name__}.fit",
    "preFilter filter preScore score",
    weight=1,
    short_name="Fit",
    args=fit_args.ARGS,
)
BALANCED_ALLOCATION = PluginEntry.in_tree(
    "NodeResourcesBalancedAllocation",
    f"{__name__}.balanced_allocation",
    "preScore score",
    weight=1,
    short_name="Balance",
    args=balanced_allocation_args.ARGS,
)

"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from dataclasses import replace

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.plugins.node_resources import balanced_allocation_args, fit_args


def _fit_variant(entry: PluginEntry, release: Release) -> PluginEntry:
    entry = replace(entry, in_tree_args=fit_args.args_of(release))
    if release.enabled("DRAExtendedResource"):
        entry = replace(entry, target=f"{__name__}.device_resources:DelegatingFit")
    if "placementScore" in release.rules.absent_points:
        return entry
    return replace(entry, points=entry.points | {"placementScore"})


FIT = PluginEntry.in_tree(
    "NodeResourcesFit",
    f"{__name__}.fit",
    "preFilter filter preScore score",
    weight=1,
    short_name="Fit",
    args=fit_args.args_of(release_of()),
    variant=_fit_variant,
)


def _balanced_variant(entry: PluginEntry, release: Release) -> PluginEntry:
    if not release.rules.balances_change:
        return entry
    target = f"{__name__}.balanced_allocation:BalanceChange"
    if release.enabled("DRAExtendedResource"):
        target = f"{__name__}.device_resources:DelegatingBalance"
    return replace(entry, target=target)


BALANCED_ALLOCATION = PluginEntry.in_tree(
    "NodeResourcesBalancedAllocation",
    f"{__name__}.balanced_allocation",
    "preScore score",
    weight=1,
    short_name="Balance",
    args=balanced_allocation_args.ARGS,
    variant=_balanced_variant,
)

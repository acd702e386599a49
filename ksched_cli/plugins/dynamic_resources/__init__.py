"""Claims of devices."""

from __future__ import annotations

from dataclasses import replace

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.plugins.dynamic_resources.args import args_of


def _variant(entry: PluginEntry, release: Release) -> PluginEntry:
    entry = replace(entry, in_tree_args=args_of(release))
    if not release.rules.scores_devices:
        return entry
    if "podGroupPostFilter" not in release.rules.absent_points:
        entry = replace(entry, points=entry.points | {"podGroupPostFilter"})
    target = f"{__name__}.extended:ScoringDynamicResources"
    if release.enabled("DRAExtendedResource"):
        target = f"{__name__}.extended:ExtendedDynamicResources"
    return replace(entry, target=target, points=entry.points | {"score"}, default_weight=2)


DESCRIPTOR = PluginEntry.in_tree(
    "DynamicResources",
    f"{__name__}.plugin",
    "preEnqueue preFilter filter postFilter reserve preBind",
    short_name="Devices",
    args=args_of(release_of()),
    variant=_variant,
)

"""Claims of pods: bound volumes, volumes to bind, volumes to provision."""

from __future__ import annotations

from dataclasses import replace

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.plugins.volume_binding.args import GATE, args_of


def _variant(entry: PluginEntry, release: Release) -> PluginEntry:
    entry = replace(entry, in_tree_args=args_of(release))
    if not release.enabled(GATE):
        return entry
    return replace(entry, target=f"{__name__}.scoring:ScoringVolumeBinding")


DESCRIPTOR = PluginEntry.in_tree(
    "VolumeBinding",
    f"{__name__}.plugin",
    "preFilter filter reserve preScore score preBind",
    short_name="Volume",
    args=args_of(release_of()),
    variant=_variant,
)

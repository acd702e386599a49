"""Claims of pods: bound volumes, volumes to bind, volumes to provision."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.volume_binding.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "VolumeBinding",
    f"{__name__}.plugin",
    "preFilter filter reserve preScore score preBind",
    short_name="Volume",
    args=ARGS,
)

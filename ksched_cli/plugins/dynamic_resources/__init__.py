"""Claims of devices."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.dynamic_resources.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "DynamicResources",
    f"{__name__}.plugin",
    "preEnqueue preFilter filter postFilter reserve preBind",
    args=ARGS,
)

"""Eviction of pods of lower priority, where a pod fits nowhere."""

from __future__ import annotations

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.plugins.default_preemption.args import ARGS

DESCRIPTOR = PluginEntry.in_tree(
    "DefaultPreemption", f"{__name__}.plugin", "preEnqueue postFilter", args=ARGS
)

"""Load-aware scores for ksched: what kubernetes-sigs/scheduler-plugins' trimaran decides."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api import Plugin, hookimpl
from ksched_trimaran.target_load_packing import TargetLoadPacking

__all__ = ["KSCHED_API", "TargetLoadPacking", "ksched_plugins"]

KSCHED_API = 3


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {TargetLoadPacking.name: TargetLoadPacking}

"""CapacityScheduling for ksched: what kubernetes-sigs/scheduler-plugins' plugin of that name
decides."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_capacity_scheduling.capacity_scheduling import CapacityScheduling
from ksched_cli.api import Plugin, hookimpl

__all__ = ["KSCHED_API", "CapacityScheduling", "ksched_plugins"]

KSCHED_API = 3


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {CapacityScheduling.name: CapacityScheduling}

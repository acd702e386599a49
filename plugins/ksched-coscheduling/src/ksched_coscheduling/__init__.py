"""Coscheduling for ksched: what kubernetes-sigs/scheduler-plugins' plugin of that name decides."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api import Plugin, hookimpl
from ksched_coscheduling.coscheduling import Coscheduling

__all__ = ["KSCHED_API", "Coscheduling", "ksched_plugins"]

KSCHED_API = 3


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {Coscheduling.name: Coscheduling}

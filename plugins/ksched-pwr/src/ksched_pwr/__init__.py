"""Power for ksched: the score of the PWR paper, and watts and energy as metrics."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api import Plugin, hookimpl
from ksched_pwr.power import Power
from ksched_pwr.pwr_measures import PwrMeasures
from ksched_pwr.pwr_score import PwrScore

__all__ = ["KSCHED_API", "PLUGINS", "ksched_plugins"]

KSCHED_API = 3

PLUGINS: tuple[type[Plugin], ...] = (PwrScore, Power, PwrMeasures)


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {plugin.name: plugin for plugin in PLUGINS}

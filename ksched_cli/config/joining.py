"""A configuration for plugins that nobody has configured: the default one, with them in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.config.effective import KnownPlugin


def profile_with_plugins(plugins: Iterable[KnownPlugin]) -> dict[str, Any]:
    """Plain data, without apiVersion and kind: the default profile with these plugins at every
    point they extend. A queue sort plugin takes the place of the default one."""
    known = list(plugins)
    chosen: dict[str, Any] = {"multiPoint": {"enabled": [{"name": one.name} for one in known]}}
    sorts = [{"name": one.name} for one in known if "queueSort" in one.points]
    if sorts:
        chosen["queueSort"] = {"enabled": sorts, "disabled": [{"name": "*"}]}
    return {"profiles": [{"plugins": chosen}]}

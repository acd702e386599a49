"""The plugins there are, once per run; those that do not load are reported and left out."""

from __future__ import annotations

from functools import cache

from ksched_cli.commands.output import warn
from ksched_cli.framework.discovery import Discovery, discover
from ksched_cli.framework.registry import Registry
from ksched_cli.plugins import IN_TREE


@cache
def discovery() -> Discovery:
    """In-tree plugins and those that other distributions bring."""
    return discover(IN_TREE)


def registry() -> Registry:
    """The plugins that can be used; warns of the others."""
    for broken in discovery().broken:
        warn(f"the plugins of {broken.origin} cannot be loaded: {broken.cause}")
    return discovery().registry

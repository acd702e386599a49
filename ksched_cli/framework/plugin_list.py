"""The answer of `ksched plugins`: the plugins of a discovery."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar, Literal

from ksched_cli.answers import Answer, Part
from ksched_cli.framework.discovery import Discovery
from ksched_cli.kube.extension_points import POINT_KEYS


class ListedPlugin(Part, frozen=True):
    """A plugin.

    origin: in-tree, or the distribution and version
    default: whether the default profile enables it
    """

    name: str
    origin: str
    extension_points: tuple[str, ...]
    default: bool


class ListedWorkload(Part, frozen=True):
    """A kind of workload that a plugin's hook makes pods of.

    kind: with its group
    origin: the distribution and version, or the argument of --plugin
    """

    kind: str
    origin: str


class BrokenSource(Part, frozen=True):
    """A source of a plugin that does not load."""

    origin: str
    cause: str


class PluginList(Answer, frozen=True, kw_only=True):
    """The plugins, the kinds of workloads that they know, and the sources that do not load."""

    COMMAND: ClassVar = "plugins"
    VIEW: ClassVar = "configuration:plugins_view"
    ROWS: ClassVar = "plugins"

    kind: Literal["PluginList"] = "PluginList"
    plugins: tuple[ListedPlugin, ...]
    workloads: tuple[ListedWorkload, ...] = ()
    broken: tuple[BrokenSource, ...] = ()


def plugin_list(discovery: Discovery, enabled: Set[str]) -> PluginList:
    """Return the list of the discovered plugins. enabled: what the default profile enables"""
    return PluginList(
        plugins=tuple(
            ListedPlugin(
                entry.name,
                entry.origin,
                tuple(key for key in POINT_KEYS if key in entry.points),
                entry.name in enabled,
            )
            for entry in discovery.registry.values()
        ),
        workloads=tuple(ListedWorkload(*item) for item in sorted(discovery.workloads.items())),
        broken=tuple(BrokenSource(source.origin, source.cause) for source in discovery.broken),
    )

"""The page of `plugins`: which plugins there are, and at which extension points they run."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.framework.plugin_list import ListedPlugin, PluginList
from ksched_cli.framework.registry import IN_TREE_ORIGIN
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.report.html.sections import Group, Groups, Page, Section, Table, Tile
from ksched_cli.report.table import counted

_RUNS = "\u25cf"


def page(answer: PluginList) -> Page:
    default = [plugin for plugin in answer.plugins if plugin.default]
    others = [plugin for plugin in answer.plugins if not plugin.default]
    tiles = [
        Tile("in the default profile", f"{len(default):,}"),
        Tile("others", f"{len(others):,}"),
        Tile("that do not load", f"{len(answer.broken):,}", "bad" if answer.broken else "good"),
    ]
    sections: list[Section] = []
    if answer.broken:
        groups = [Group(each.origin, each.cause, "broken", "bad") for each in answer.broken]
        sections.append(Groups("Sources that do not load", groups, opened=len(groups)))
    if default:
        sections.append(_points("In the default profile", default))
    if others:
        note = "A configuration has to enable them."
        sections.append(_points("Others", others, note))
    if answer.workloads:
        rows = [(each.kind, each.origin) for each in answer.workloads]
        note = "Kinds from which plugins create pods, in addition to those that ksched knows."
        sections.append(Table("Workloads", ("Kind", "From"), rows, note))
    title = f"{counted(len(answer.plugins), 'plugin')}, {len(default):,} of them run by default"
    return Page(title, (), tiles, sections)


def _points(heading: str, plugins: Sequence[ListedPlugin], note: str = "") -> Table:
    """A row per plugin, a column per extension point that one of them extends."""
    points = [
        point for point in POINT_KEYS if any(point in each.extension_points for each in plugins)
    ]
    rows = [
        (each.name, *(_RUNS if point in each.extension_points else "" for point in points))
        for each in plugins
    ]
    headers: tuple[str, ...] = ("Plugin", *points)
    if any(each.origin != IN_TREE_ORIGIN for each in plugins):
        headers = (*headers, "From")
        rows = [(*row, each.origin) for row, each in zip(rows, plugins, strict=True)]
    return Table(heading, headers, rows, note)

"""The plugins of a discovery, and the sources that do not load: as table text and plain data."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ksched_cli.framework.discovery import Discovery
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.report.table import Limit, columns


def document(discovery: Discovery, enabled: Set[str]) -> dict[str, Any]:
    """kind PluginList. enabled: what the default profile enables."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "PluginList",
        "plugins": [
            {
                "name": entry.name,
                "origin": entry.origin,
                "extensionPoints": _points(entry),
                "default": entry.name in enabled,
            }
            for entry in discovery.registry.values()
        ],
        "broken": [{"origin": source.origin, "cause": source.cause} for source in discovery.broken],
    }


def table(discovery: Discovery, enabled: Set[str], limit: Limit) -> str:
    """A row per plugin, then one per source that does not load."""
    rows = [
        (
            entry.name,
            entry.origin,
            "yes" if entry.name in enabled else "no",
            ", ".join(_points(entry)),
        )
        for entry in discovery.registry.values()
    ]
    parts = [columns(("PLUGIN", "FROM", "DEFAULT", "EXTENSION POINTS"), rows, limit)]
    if discovery.broken:
        broken = [(source.origin, source.cause) for source in discovery.broken]
        parts.append(columns(("BROKEN", "CAUSE"), broken, limit))
    return "\n\n".join(parts)


def _points(entry: PluginEntry) -> list[str]:
    """The keys of its extension points, in the order of POINT_KEYS."""
    return [key for key in POINT_KEYS if key in entry.points]

"""The plugins there are."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ksched_cli.framework.discovery import Discovery
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.report.table import Limit, columns


def document(found: Discovery, enabled: Set[str]) -> dict[str, Any]:
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
            for entry in found.registry.values()
        ],
        "broken": [{"origin": one.origin, "cause": one.cause} for one in found.broken],
    }


def table(found: Discovery, enabled: Set[str], limit: Limit) -> str:
    rows = [
        (
            entry.name,
            entry.origin,
            "yes" if entry.name in enabled else "no",
            ", ".join(_points(entry)),
        )
        for entry in found.registry.values()
    ]
    parts = [columns(("PLUGIN", "FROM", "DEFAULT", "EXTENSION POINTS"), rows, limit)]
    if found.broken:
        broken = [(one.origin, one.cause) for one in found.broken]
        parts.append(columns(("BROKEN", "CAUSE"), broken, limit))
    return "\n\n".join(parts)


def _points(entry: PluginEntry) -> list[str]:
    """In the order in which the runtime knows them."""
    return [key for key in POINT_KEYS if key in entry.points]

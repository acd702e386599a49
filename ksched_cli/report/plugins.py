"""The plugins of a discovery, their kinds of workloads, and the sources that do not load."""

from __future__ import annotations

from ksched_cli.framework.plugin_list import PluginList
from ksched_cli.report.table import Limit


def table(answer: PluginList, limit: Limit) -> str:
    """A row per plugin, then one per kind of workload, then one per source that does not load."""
    rows = [
        (
            entry.name,
            entry.origin,
            "yes" if entry.default else "no",
            ", ".join(entry.extension_points),
        )
        for entry in answer.plugins
    ]
    parts = [limit.columns(("PLUGIN", "FROM", "DEFAULT", "EXTENSION POINTS"), rows)]
    if answer.workloads:
        kinds = [(workload.kind, workload.origin) for workload in answer.workloads]
        parts.append(limit.columns(("WORKLOAD", "FROM"), kinds))
    if answer.broken:
        broken = [(source.origin, source.cause) for source in answer.broken]
        parts.append(limit.columns(("BROKEN", "CAUSE"), broken))
    return "\n\n".join(parts)

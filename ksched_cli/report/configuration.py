"""Effective configurations, how two differ, what a migration remarks on; and the plugins."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ksched_cli.config.answers import ConfigurationDiff, EffectiveConfiguration
from ksched_cli.config.migration.settle import Remark, RemarkKind
from ksched_cli.framework.plugin_list import PluginList
from ksched_cli.report.markdown import code, markdown_table
from ksched_cli.report.table import Limit, counted, printable

# -- config show -----------------------------------------------------------------------------------


def table(answer: EffectiveConfiguration, limit: Limit) -> str:
    """Per profile its plugins by point, then their args; the extenders last."""
    parts = [_profile(answer, name, limit) for name in answer.profiles]
    if answer.extenders:
        parts.append(limit.columns(("EXTENDER", "SETTINGS"), extender_rows(answer)))
    return "\n\n".join(parts)


def _profile(answer: EffectiveConfiguration, name: str, limit: Limit) -> str:
    percentage = answer.percentage_of_nodes_to_score[name] or "adaptive"
    points = []
    for point in answer.profiles[name]:
        plugins = marked_plugins(answer, name, point)
        weights = answer.weights[name] if point == "score" else {}
        plugins |= {key: f"{plugins[key]} ({weight})" for key, weight in weights.items() if weight}
        points.append((point, ", ".join(plugins.values()) or "-"))
    parts = [
        f"profile {printable(name)} (percentageOfNodesToScore: {percentage})",
        limit.columns(("POINT", "PLUGINS, IN ORDER (WEIGHT)"), points),
    ]
    if has_marks(answer, name):
        parts.append(MEANING_OF_MARKS)
    if args := args_rows(answer, name):
        parts.append("\n" + limit.columns(("ARGS OF", "SETTINGS"), args))
    return "\n".join(parts)


def settings_text(settings: Any, hidden: tuple[str, ...] = ("apiVersion", "kind")) -> str:
    """Plain data on one line, with spaces where it may wrap."""
    if not isinstance(settings, Mapping):
        return json.dumps(settings, ensure_ascii=False)
    shown = {key: value for key, value in settings.items() if key not in hidden}
    return ", ".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in shown.items()
    )


_MARKS = {"default": "", "multiPoint": "*"}
MEANING_OF_MARKS = "* named under the file's multiPoint, + named at the point itself"


def marked_plugins(answer: EffectiveConfiguration, profile: str, point: str) -> dict[str, str]:
    """Plugin → its name with the mark of where it is named, in order."""
    origins = answer.origin[profile][point]
    return {name: name + _MARKS.get(origins[name], "+") for name in answer.profiles[profile][point]}


def has_marks(answer: EffectiveConfiguration, profile: str) -> bool:
    return any(set(point.values()) - {"default"} for point in answer.origin[profile].values())


def args_rows(answer: EffectiveConfiguration, profile: str) -> list[tuple[str, str]]:
    """A row per plugin that takes args."""
    return [(plugin, settings_text(args)) for plugin, args in answer.args[profile].items()]


def extender_rows(answer: EffectiveConfiguration) -> list[tuple[str, str]]:
    """URL and settings."""
    return [
        (extender.get("urlPrefix", ""), settings_text(extender, hidden=("urlPrefix",)))
        for extender in answer.extenders
    ]


# -- config diff, config migrate -------------------------------------------------------------------


def diff_table(answer: ConfigurationDiff, limit: Limit) -> str:
    """A row per difference."""
    changes = answer.changes
    if not changes:
        return "nothing differs once both take effect"
    rows = [
        (change.profile or "(all)", change.path, shown(change.before), shown(change.after))
        for change in changes
    ]
    headers = ("PROFILE", "PATH", *short_names(answer.names))
    return f"{limit.columns(headers, rows)}\n\n{counted(len(changes), 'difference')}"


def diff_markdown(answer: ConfigurationDiff) -> str:
    """A table with a row per difference."""
    changes, names = answer.changes, answer.names
    sides = f"between {code(names[0])} and {code(names[1])} once both take effect"
    if not changes:
        return f"Nothing differs {sides}."
    rows = [
        (
            code(change.profile) or "all",
            code(change.path),
            code(shown(change.before)),
            code(shown(change.after)),
        )
        for change in changes
    ]
    diff_table = markdown_table(("profile", "path", *map(code, short_names(names))), rows)
    return f"**{counted(len(changes), 'difference')}** {sides}:\n\n{diff_table}"


def short_names(names: tuple[str, str]) -> tuple[str, ...]:
    """Without the folders that both are in."""
    try:
        folder = os.path.commonpath([os.path.dirname(name) for name in names])
    except ValueError:  # a path from the root beside one that is not
        return names
    return tuple(os.path.relpath(name, folder) if folder else name for name in names)


def shown(value: Any) -> str:
    """On one line; "-" where a side has nothing there."""
    if value is None:
        return "-"
    if value is True:
        return "runs"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_warning(remark: Remark) -> bool:
    """Whether the new file does not take effect as the old one did."""
    return remark.kind is not RemarkKind.CHANGED


def remark_line(remark: Remark, source_name: str) -> str:
    """As `FILE:LINE: MESSAGE; HINT`; what is about the new file has its path there."""
    if remark.kind is RemarkKind.REFUSED:
        place = f"the new file, line {remark.line}" if remark.line else "the new file"
        begin = f"kube-scheduler refuses {place}: {remark.path}"
    elif remark.kind is RemarkKind.DIFFERS:
        begin = f"the new file takes effect otherwise: {remark.path}"
    else:
        begin = f"{source_name}:{remark.line}" if remark.line else source_name
    hint = f"; {remark.hint}" if remark.hint else ""
    return f"{begin}: {remark.message}{hint}"


# -- plugins ---------------------------------------------------------------------------------------


def plugins_table(answer: PluginList, limit: Limit) -> str:
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

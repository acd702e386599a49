"""The effective configuration of `config show`, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ksched_cli.config.effective import Configuration, PluginRef, Profile
from ksched_cli.config.go_types import to_wire
from ksched_cli.report.table import Limit, printable


def table(configuration: Configuration, limit: Limit) -> str:
    """Per profile its plugins by point, then their args; the extenders last."""
    parts = [_profile(profile, configuration, limit) for profile in configuration.profiles]
    if configuration.extenders:
        rows = [
            (extender.url_prefix, settings_text(to_wire(extender), hidden=("urlPrefix",)))
            for extender in configuration.extenders
        ]
        parts.append(limit.columns(("EXTENDER", "SETTINGS"), rows))
    return "\n\n".join(parts)


def _profile(profile: Profile, configuration: Configuration, limit: Limit) -> str:
    percentage = profile.percentage_of_nodes_to_score or "adaptive"
    name = printable(profile.scheduler_name)
    parts = [f"profile {name} (percentageOfNodesToScore: {percentage})"]
    points = [
        (key, ", ".join(_shown(ref) for ref in refs) or "-")
        for key, refs in profile.plugins.items()
    ]
    parts.append(limit.columns(("POINT", "PLUGINS, IN ORDER (WEIGHT)"), points))
    origins = {ref.origin for refs in profile.plugins.values() for ref in refs}
    if origins - {"default"}:
        parts.append("* named under the file's multiPoint, + named at the point itself")
    args = [(name, settings_text(to_wire(settings))) for name, settings in profile.args.items()]
    if args:
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


MARKS = {"default": "", "multiPoint": "*"}


def _shown(ref: PluginRef) -> str:
    """Name, mark of origin, and the weight where it counts."""
    name = ref.name + MARKS.get(ref.origin, "+")
    return f"{name} ({ref.weight})" if ref.weight else name

"""The effective configuration of `config show`: as table text and as plain data."""

from __future__ import annotations

import json
from typing import Any

from ksched_cli.config.effective import Configuration, PluginRef, Profile
from ksched_cli.config.go_types import to_wire
from ksched_cli.report.table import Limit, columns, printable


def document(configuration: Configuration) -> dict[str, Any]:
    """kind EffectiveConfiguration."""
    profiles = {profile.scheduler_name: profile for profile in configuration.profiles}
    return {
        "apiVersion": "ksched/v1",
        "kind": "EffectiveConfiguration",
        "profiles": {name: _names(profile) for name, profile in profiles.items()},
        "weights": {name: dict(profile.weights) for name, profile in profiles.items()},
        "args": {name: _args(profile) for name, profile in profiles.items()},
        "origin": {name: _origins(profile) for name, profile in profiles.items()},
        "percentageOfNodesToScore": {
            name: profile.percentage_of_nodes_to_score for name, profile in profiles.items()
        },
        "parallelism": configuration.parallelism,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "extenders": [to_wire(extender) for extender in configuration.extenders],
    }


def _names(profile: Profile) -> dict[str, list[str]]:
    return {key: [ref.name for ref in refs] for key, refs in profile.plugins.items()}


def _args(profile: Profile) -> dict[str, Any]:
    return {name: to_wire(args) for name, args in profile.args.items()}


def _origins(profile: Profile) -> dict[str, dict[str, str]]:
    return {key: {ref.name: ref.origin for ref in refs} for key, refs in profile.plugins.items()}


def table(configuration: Configuration, limit: Limit) -> str:
    """Per profile its plugins by point, then their args; the extenders last."""
    parts = [_profile(profile, configuration, limit) for profile in configuration.profiles]
    if configuration.extenders:
        rows = [
            (extender.url_prefix, _settings(to_wire(extender), hidden=("urlPrefix",)))
            for extender in configuration.extenders
        ]
        parts.append(columns(("EXTENDER", "SETTINGS"), rows, limit))
    return "\n\n".join(parts)


def _profile(profile: Profile, configuration: Configuration, limit: Limit) -> str:
    percentage = profile.percentage_of_nodes_to_score or "adaptive"
    name = printable(profile.scheduler_name)
    parts = [f"profile {name} (percentageOfNodesToScore: {percentage})"]
    points = [
        (key, ", ".join(_shown(ref) for ref in refs) or "-")
        for key, refs in profile.plugins.items()
    ]
    parts.append(columns(("POINT", "PLUGINS, IN ORDER (WEIGHT)"), points, limit))
    origins = {ref.origin for refs in profile.plugins.values() for ref in refs}
    if origins - {"default"}:
        parts.append("* named under the file's multiPoint, + named at the point itself")
    args = [(name, _settings(settings)) for name, settings in _args(profile).items()]
    if args:
        parts.append("\n" + columns(("ARGS OF", "SETTINGS"), args, limit))
    return "\n".join(parts)


def _settings(settings: Any, hidden: tuple[str, ...] = ("apiVersion", "kind")) -> str:
    """Plain data on one line, with spaces where it may wrap."""
    if not isinstance(settings, dict):
        return json.dumps(settings, ensure_ascii=False)
    shown = {key: value for key, value in settings.items() if key not in hidden}
    return ", ".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in shown.items()
    )


_MARKS = {"default": "", "multiPoint": "*"}


def _shown(ref: PluginRef) -> str:
    """Name, mark of origin, and the weight where it counts."""
    name = ref.name + _MARKS.get(ref.origin, "+")
    return f"{name} ({ref.weight})" if ref.weight else name

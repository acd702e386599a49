"""The effective configuration of `config show`: as table text and as plain data."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.effective import Configuration, PluginRef, Profile
from ksched_cli.config.golang import json_text
from ksched_cli.config.points import POINT_KEYS
from ksched_cli.config.wire import to_wire
from ksched_cli.report.table import Limit, columns


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
            name: _percentage(profile, configuration) for name, profile in profiles.items()
        },
        "parallelism": configuration.parallelism,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "extenders": [to_wire(extender) for extender in configuration.extenders],
    }


def _names(profile: Profile) -> dict[str, list[str]]:
    return {key: [ref.name for ref in profile.plugins[key]] for key in POINT_KEYS}


def _args(profile: Profile) -> dict[str, Any]:
    return {name: to_wire(args) for name, args in profile.args.items()}


def _origins(profile: Profile) -> dict[str, dict[str, str]]:
    return {key: {ref.name: ref.origin for ref in profile.plugins[key]} for key in POINT_KEYS}


def _percentage(profile: Profile, configuration: Configuration) -> int:
    own = profile.percentage_of_nodes_to_score
    return configuration.percentage_of_nodes_to_score if own is None else own


def table(configuration: Configuration, limit: Limit) -> str:
    """Per profile its plugins by point, then what they are given; extenders and globals last."""
    parts = [_profile(profile, configuration, limit) for profile in configuration.profiles]
    if configuration.extenders:
        rows = [
            (extender.url_prefix, extender.weight, json_text(to_wire(extender)))
            for extender in configuration.extenders
        ]
        parts.append(columns(("EXTENDER", "WEIGHT", "SETTINGS"), rows, limit))
    return "\n\n".join(parts)


def _profile(profile: Profile, configuration: Configuration, limit: Limit) -> str:
    percentage = _percentage(profile, configuration) or "adaptive"
    title = f"profile {profile.scheduler_name} (percentageOfNodesToScore: {percentage})"
    points = [
        (key, ", ".join(_shown(ref) for ref in profile.plugins[key]) or "-") for key in POINT_KEYS
    ]
    args = [
        (name, json_text({key: value for key, value in settings.items() if key not in _META}))
        if isinstance(settings, dict)
        else (name, json_text(settings))
        for name, settings in _args(profile).items()
    ]
    parts = [title, columns(("POINT", "PLUGINS, IN ORDER"), points, limit)]
    parts.append("  * named by the file's multiPoint   + named at the point itself")
    if args:
        parts.append("\n" + columns(("ARGS OF", "SETTINGS"), args, limit))
    return "\n".join(parts)


_META = ("apiVersion", "kind")
_MARKS = {"default": "", "multiPoint": "*"}


def _shown(ref: PluginRef) -> str:
    """Name, mark of origin, and the weight where it counts."""
    mark = _MARKS.get(ref.origin, "+")
    return f"{ref.name}{mark} {ref.weight}" if ref.weight else f"{ref.name}{mark}"

"""The page of an effective configuration: plugins by extension point, weights, args."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars, Page, Section, Table, Tile
from ksched_cli.report.table import counted

IDENTITY = ("apiVersion", "kind")


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: not used, as the table begins with a profile"""
    profiles = document["profiles"]
    tiles = [
        Tile("parallelism", f"{document['parallelism']:,}"),
        Tile("initial backoff", f"{document['podInitialBackoffSeconds']} s"),
        Tile("longest backoff", f"{document['podMaxBackoffSeconds']} s"),
        Tile("extenders", f"{len(document['extenders']):,}"),
    ]
    sections: list[Section] = []
    for name in profiles:
        percentage = document["percentageOfNodesToScore"][name] or "adaptive"
        note = f"percentageOfNodesToScore: {percentage}"
        rows = [
            (point, ", ".join(_plugin(document, name, point, plugin) for plugin in plugins) or "-")
            for point, plugins in profiles[name].items()
        ]
        origins = {o for point in document["origin"][name].values() for o in point.values()}
        if origins - {"default"}:
            note += "; * named under the file's multiPoint, + named at the point itself"
        sections.append(Table(f"Profile {name}", ("Point", "Plugins, in order"), rows, note))
        if document["weights"][name]:
            sections.append(_weights(name, document["weights"][name]))
        args = [(plugin, _settings(args)) for plugin, args in document["args"][name].items()]
        if args:
            sections.append(Table(f"Args in {name}", ("Plugin", "Args"), args))
    if document["extenders"]:
        rows = [
            (extender.get("urlPrefix", ""), _settings(extender, ("urlPrefix",)))
            for extender in document["extenders"]
        ]
        sections.append(Table("Extenders", ("URL", "Settings"), rows))
    title = f"{counted(len(profiles), 'profile')}: {', '.join(profiles)}"
    return Page(title, (), tiles, sections)


MARKS = {"default": "", "multiPoint": "*"}


def _plugin(document: Mapping[str, Any], profile: str, point: str, plugin: str) -> str:
    """Its name with the mark of where it is named."""
    return plugin + MARKS.get(document["origin"][profile][point][plugin], "+")


def _weights(profile: str, weights: Mapping[str, int]) -> Bars:
    most = max(weights.values())
    bars = [
        bar((plugin, weight), (weight,), ("weight",), most) for plugin, weight in weights.items()
    ]
    return Bars(f"Weights in {profile}", ("Plugin", "Weight", ""), bars)


def _settings(settings: Any, hidden: tuple[str, ...] = IDENTITY) -> str:
    """Plain data in a cell."""
    if not isinstance(settings, Mapping):
        return json.dumps(settings, ensure_ascii=False)
    shown = {key: value for key, value in settings.items() if key not in hidden}
    return ", ".join(f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in shown.items())

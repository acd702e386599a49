"""The page of an effective configuration: plugins by extension point, weights, args."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.config.answers import EffectiveConfiguration
from ksched_cli.report.configuration import MARKS, settings_text
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.sections import Bars, Page, Section, Table, Tile
from ksched_cli.report.table import counted


def page(answer: EffectiveConfiguration) -> Page:
    profiles = answer.profiles
    tiles = [
        Tile("parallelism", f"{answer.parallelism:,}"),
        Tile("initial backoff", f"{answer.pod_initial_backoff_seconds} s"),
        Tile("longest backoff", f"{answer.pod_max_backoff_seconds} s"),
        Tile("extenders", f"{len(answer.extenders):,}"),
    ]
    sections: list[Section] = []
    for name in profiles:
        percentage = answer.percentage_of_nodes_to_score[name] or "adaptive"
        note = f"percentageOfNodesToScore: {percentage}"
        rows = [
            (point, ", ".join(_plugin(answer, name, point, plugin) for plugin in plugins) or "-")
            for point, plugins in profiles[name].items()
        ]
        origins = {o for point in answer.origin[name].values() for o in point.values()}
        if origins - {"default"}:
            note += "; * named under the file's multiPoint, + named at the point itself"
        sections.append(Table(f"Profile {name}", ("Point", "Plugins, in order"), rows, note))
        if answer.weights[name]:
            sections.append(_weights(name, answer.weights[name]))
        args = [(plugin, settings_text(args)) for plugin, args in answer.args[name].items()]
        if args:
            sections.append(Table(f"Args in {name}", ("Plugin", "Args"), args))
    if answer.extenders:
        rows = [
            (extender.get("urlPrefix", ""), settings_text(extender, ("urlPrefix",)))
            for extender in answer.extenders
        ]
        sections.append(Table("Extenders", ("URL", "Settings"), rows))
    title = f"{counted(len(profiles), 'profile')}: {', '.join(profiles)}"
    return Page(title, (), tiles, sections)


def _plugin(answer: EffectiveConfiguration, profile: str, point: str, plugin: str) -> str:
    """Its name with the mark of where it is named."""
    return plugin + MARKS.get(answer.origin[profile][point][plugin], "+")


def _weights(profile: str, weights: Mapping[str, int]) -> Bars:
    most = max(weights.values())
    bars = [
        bar((plugin, weight), (weight,), ("weight",), most) for plugin, weight in weights.items()
    ]
    return Bars(f"Weights in {profile}", ("Plugin", "Weight", ""), bars)

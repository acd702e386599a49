"""The plugins that a profile of an old version ran, and their weights.

Upstream: mergePlugins and mergePluginSet of each version's default_plugins.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.go_types import fields_of
from ksched_cli.config.merge import (
    ALL,
    FrameworkError,
    expand,
    merge_plugins,
    plugin_set,
    score_weights,
)
from ksched_cli.config.migration.old_versions import OldVersion
from ksched_cli.config.types import Plugins, PluginSet, PluginSetEntry
from ksched_cli.kube.extension_points import POINT_KEYS


@dataclass(frozen=True, slots=True)
class Effect:
    """plugins: per point, in the order they run; weights: of those that score.

    refusal: why the old kube-scheduler refused the profile, "" where it did not; then the rest is
    what it means with each plugin once
    """

    plugins: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]
    refusal: str = ""

    def runs(self, name: str, point: str) -> bool:
        return name in self.plugins.get(point, ())


def old_effect(version: OldVersion, plugins: Plugins | None, registry: KnownPlugins) -> Effect:
    """The effect of what a profile of an old version says. registry: that version's plugins"""
    given = _as_read(version, plugins)
    defaults = _defaults(version)
    if version.replaces_defaults:
        merged = merge_plugins(defaults, given)
    else:
        merged = _appended(defaults, given)
    try:
        return _effect(merged, registry)
    except FrameworkError as error:
        refusal = error.message
    once = _each_once(merge_plugins(defaults, given), registry)
    return replace(_effect(once, registry), refusal=refusal)


def _as_read(version: OldVersion, plugins: Plugins | None) -> Plugins:
    names = {fields_of(Plugins)[key].attribute: PluginSet() for key in version.unread_points}
    return replace(plugins or Plugins(), **names)


def _defaults(version: OldVersion) -> Plugins:
    if version.has_multi_point:
        entries = (_entry(version, name) for name in version.default_points)
        return Plugins(multi_point=PluginSet(tuple(entries)))
    sets = {
        fields_of(Plugins)[point].attribute: PluginSet(
            tuple(
                _entry(version, name) if point == "score" else PluginSetEntry(name)
                for name, points in version.default_points.items()
                if point in points
            )
        )
        for point in POINT_KEYS
    }
    return Plugins(**sets)


def _entry(version: OldVersion, name: str) -> PluginSetEntry:
    return PluginSetEntry(name, version.default_weights.get(name))


def _appended(defaults: Plugins, given: Plugins) -> Plugins:
    """v1beta1: the defaults less the disabled ones, then all that the file enables."""
    sets = {}
    for item in fields(Plugins):
        default, own = getattr(defaults, item.name), getattr(given, item.name)
        disabled = {plugin.name for plugin in own.disabled or ()}
        left = () if ALL in disabled else default.enabled or ()
        enabled = [plugin for plugin in left if plugin.name not in disabled]
        sets[item.name] = PluginSet((*enabled, *(own.enabled or ())), own.disabled)
    return Plugins(**sets)


def _each_once(plugins: Plugins, registry: KnownPlugins) -> Plugins:
    """Drop the plugins that do not exist, do not extend their point, or are there already."""
    sets = {}
    for key, item in fields_of(Plugins).items():
        enabled: dict[str, PluginSetEntry] = {}
        for plugin in plugin_set(plugins, key).enabled or ():
            entry = registry.get(plugin.name)
            if entry is not None and (key == "multiPoint" or key in entry.points):
                enabled.setdefault(plugin.name, plugin)
        disabled = plugin_set(plugins, key).disabled
        sets[item.attribute] = PluginSet(tuple(enabled.values()), disabled)
    return Plugins(**sets)


def _effect(plugins: Plugins, registry: KnownPlugins) -> Effect:
    """Raises FrameworkError."""
    placed = expand(plugins, registry, frozenset())
    weights, _ = score_weights(plugins, registry)
    names = {point: tuple(ref.name for ref in refs) for point, refs in placed.items()}
    return Effect(names, {name: weights[name] for name in names["score"]})


def enabled_names(plugins: Plugins | None, points: Iterable[str]) -> tuple[str, ...]:
    """Return what a file enables at these points, in its order, each name once."""
    chosen = (plugin_set(plugins or Plugins(), point).enabled or () for point in points)
    return tuple(dict.fromkeys(plugin.name for entries in chosen for plugin in entries))

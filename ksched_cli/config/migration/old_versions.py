"""The defaults of the versions before v1, how they merged a file with them, and what of it
runs in v1.

Each is that of the last release that reads it; old_versions.yaml has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from ksched_cli.config.allowed_plugins import PluginWithoutCode
from ksched_cli.config.checks.known_names import read_table
from ksched_cli.config.defaults import merge_plugins
from ksched_cli.config.effective import KnownPlugin, KnownPlugins, PluginTable
from ksched_cli.config.startup import FrameworkError, expand, score_weights
from ksched_cli.config.types import ALL, MULTI_POINT, Plugins, PluginSet, PluginSetEntry
from ksched_cli.kube.extension_points import POINT_KEYS


class OldVersion(msgspec.Struct, frozen=True):
    """default_points: plugin name → the points at which it runs by default, in the order of the
    plugins; default_weights: other than 1; points: of every plugin, all that it extends;
    replaces_defaults: a default plugin that the file enables is set anew, not there twice;
    unread_points: keys that the version took and did not mind
    """

    name: str
    release: str
    default_points: Mapping[str, tuple[str, ...]]
    default_weights: Mapping[str, int]
    points: Mapping[str, tuple[str, ...]]
    has_multi_point: bool = False
    replaces_defaults: bool = True
    unread_points: tuple[str, ...] = ()

    def plugins(self, registry: KnownPlugins) -> KnownPlugins:
        """Return the in-tree plugins of this version, and those of other builds that the registry
        has."""
        foreign = {
            name: plugin
            for name, plugin in registry.items()
            if plugin.origin != "in-tree" and name not in self.points
        }
        in_tree: dict[str, KnownPlugin] = {
            name: PluginWithoutCode(
                name,
                frozenset(points),
                enabled_by_default=name in self.default_points,
                default_weight=self.default_weights.get(name),
            )
            for name, points in self.points.items()
        }
        return PluginTable(registry.release, {**in_tree, **foreign})


class _Tables(msgspec.Struct, frozen=True):
    versions: tuple[OldVersion, ...]


OLD_VERSIONS: Mapping[str, OldVersion] = {
    version.name: version for version in read_table(__file__, _Tables).versions
}
# A Policy file, as the same release read it: its plugins are v1beta1's.
POLICY = OLD_VERSIONS["v1beta1"]


# -- what a profile did ---------------------------------------------------------------------------
# The plugins that a profile of an old version ran, and their weights.
#
# Upstream: mergePlugins and mergePluginSet of each version's default_plugins.go.


@dataclass(frozen=True, slots=True)
class EnabledPlugins:
    """plugins: per point, in the order they run; weights: of those that score.

    refusal: why the old kube-scheduler refused the profile, "" where it did not; then the rest is
    what it means with each plugin once
    """

    plugins: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, int]
    refusal: str = ""

    def runs(self, name: str, point: str) -> bool:
        return name in self.plugins.get(point, ())


def old_effect(
    version: OldVersion, plugins: Plugins | None, registry: KnownPlugins
) -> EnabledPlugins:
    """Return the effect of what a profile of an old version says. registry: that version's
    plugins"""
    written = plugins or Plugins()
    given = Plugins.each(
        lambda key: PluginSet() if key in version.unread_points else written.at(key)
    )
    defaults = Plugins.each(lambda key: _default_set(version, key))
    replaced = merge_plugins(defaults, given)
    appended = Plugins.each(lambda key: _appended(defaults.at(key), given.at(key)))
    try:
        return _effect(replaced if version.replaces_defaults else appended, registry)
    except FrameworkError as error:
        refusal = error.message
    once = Plugins.each(lambda key: _each_once(replaced.at(key), key, registry))
    return replace(_effect(once, registry), refusal=refusal)


def _default_set(version: OldVersion, key: str) -> PluginSet:
    """Return what a version enables at a point: at each by itself, or all under multiPoint."""
    if version.has_multi_point != (key == MULTI_POINT):
        return PluginSet()
    weights = version.default_weights if key in ("score", MULTI_POINT) else {}
    return PluginSet(
        tuple(
            PluginSetEntry(name, weights.get(name))
            for name, points in version.default_points.items()
            if key == MULTI_POINT or key in points
        )
    )


def _appended(default: PluginSet, own: PluginSet) -> PluginSet:
    """v1beta1: the defaults less the disabled ones, then all that the file enables."""
    disabled = {plugin.name for plugin in own.disabled or ()}
    left = () if ALL in disabled else default.enabled or ()
    enabled = [plugin for plugin in left if plugin.name not in disabled]
    return PluginSet((*enabled, *(own.enabled or ())), own.disabled)


def _each_once(chosen: PluginSet, key: str, registry: KnownPlugins) -> PluginSet:
    """Drop the plugins that do not exist, do not extend their point, or are there already."""
    enabled: dict[str, PluginSetEntry] = {}
    for plugin in chosen.enabled or ():
        entry = registry.get(plugin.name)
        if entry is not None and (key == MULTI_POINT or key in entry.points):
            enabled.setdefault(plugin.name, plugin)
    return PluginSet(tuple(enabled.values()), chosen.disabled)


def _effect(plugins: Plugins, registry: KnownPlugins) -> EnabledPlugins:
    """Return the plugins that are enabled in the end. Raises FrameworkError."""
    placed = expand(plugins, registry)
    weights, _ = score_weights(plugins, registry)
    names = {point: tuple(ref.name for ref in refs) for point, refs in placed.items()}
    return EnabledPlugins(names, {name: weights[name] for name in names["score"]})


def enabled_names(plugins: Plugins | None, points: Iterable[str]) -> tuple[str, ...]:
    """Return what a file enables at these points, in its order, each name once."""
    entries = (entry for point in points for entry in (plugins or Plugins()).enabled(point))
    return tuple(dict.fromkeys(entry.name for entry in entries))


# -- what it means in v1 --------------------------------------------------------------------------
# What a profile of an old version means in v1: which of v1's plugins run where, with which weights,
# so that it decides as it did.
#
# Upstream's documented steps: kubernetes.io, Scheduler Configuration, "Scheduler configuration
# migrations".


FIT = "NodeResourcesFit"
# Plugins of v1beta1 that became scoring strategies of NodeResourcesFit.
STRATEGIES: Mapping[str, str] = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
# The other point of a plugin that gets a point that it did not extend in the old version.
_GOES_WITH: Mapping[str, str] = {"preFilter": "filter", "preScore": "score"}


@dataclass(frozen=True, slots=True)
class Expected:
    """Per point of v1 the plugins that are to run and that are not, of those the old version had;
    weights: of those to run at score."""

    running: Mapping[str, tuple[str, ...]]
    absent: Mapping[str, frozenset[str]]
    weights: Mapping[str, int]

    def is_off(self, name: str) -> bool:
        """Return whether a plugin of the old version is to run nowhere."""
        return not any(name in names for names in self.running.values())


@dataclass(frozen=True, slots=True)
class OldStrategy:
    """The plugin that scored nodes by their resources ("": none), and others that did so beside
    it, for which v1 has no place."""

    plugin: str
    others: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        return STRATEGIES.get(self.plugin, "")


def strategy_of(effect: EnabledPlugins, named: Sequence[str]) -> OldStrategy:
    """named: what the file enables at score itself, which goes before the defaults"""
    names = (*STRATEGIES, FIT)
    scoring = [name for name in effect.plugins.get("score", ()) if name in names]
    candidates = [name for name in named if name in scoring] or scoring
    chosen = candidates[0] if candidates else ""
    return OldStrategy(chosen, tuple(name for name in scoring if name != chosen))


def with_strategy(effect: EnabledPlugins, strategy: OldStrategy) -> EnabledPlugins:
    """Return the effect with NodeResourcesFit in the place of what scored by resources."""
    weights = {
        name: weight
        for name, weight in effect.weights.items()
        if name not in STRATEGIES and name != FIT
    }
    if strategy.plugin:
        weights[FIT] = effect.weights[strategy.plugin]
    return replace(effect, plugins={**effect.plugins, "score": tuple(weights)}, weights=weights)


def expected_of(effect: EnabledPlugins, version: OldVersion, registry: KnownPlugins) -> Expected:
    """effect: with_strategy's; registry: v1's plugins, with those of other builds"""
    running: dict[str, tuple[str, ...]] = {}
    absent: dict[str, frozenset[str]] = {}
    # The old version says nothing of other plugins; newer versions are like v1.
    judged = {
        name: plugin
        for name, plugin in registry.items()
        if name in version.points or plugin.origin != "in-tree"
    }
    for point in POINT_KEYS:
        states = {
            name: _runs(name, point, effect, version, registry)
            for name, plugin in judged.items()
            if point in plugin.points
        }
        on = [name for name, runs in states.items() if runs]
        ordered = [name for name in effect.plugins.get(point, ()) if name in on]
        running[point] = (*ordered, *(name for name in on if name not in ordered))
        absent[point] = frozenset(name for name, runs in states.items() if runs is False)
    weights = {name: effect.weights.get(name, 1) for name in running["score"]}
    return Expected(running, absent, weights)


def _runs(
    name: str, point: str, effect: EnabledPlugins, version: OldVersion, registry: KnownPlugins
) -> bool | None:
    """None if v1 is the same: a point that the plugin did not extend, beside others."""
    if registry[name].origin != "in-tree" or point in version.points[name]:
        return effect.runs(name, point)
    if not any(name in names for names in effect.plugins.values()):
        return False
    other = _GOES_WITH.get(point, "")
    return True if other in version.points[name] and effect.runs(name, other) else None

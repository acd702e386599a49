"""The default plugins merged with those of a profile, and multiPoint expanded.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (mergePlugins, mergePluginSet) and
framework/runtime/framework.go (updatePluginList, expandMultiPointPlugins, getScoreWeights).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from ksched_cli.config.effective import KnownPlugin, KnownPlugins, PluginRef
from ksched_cli.config.go_types import fields_of
from ksched_cli.config.types import Plugins, PluginSet, PluginSetEntry
from ksched_cli.kube.extension_points import POINTS, ExtensionPoint
from ksched_cli.kube.int64 import MAX_INT64, wrap

ALL = "*"
MULTI_POINT = "multiPoint"
_MAX_NODE_SCORE = 100
NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"


class FrameworkError(Exception):
    """NewFramework refuses a profile. point: the key of the point it is about, if any."""

    def __init__(self, message: str, *, plugin: str = "", point: str = "") -> None:
        self.message, self.plugin, self.point = message, plugin, point
        super().__init__(message)


class FrameworkPanicError(FrameworkError):
    """Upstream crashes."""


def merge_plugins(defaults: Plugins, custom: Plugins | None) -> Plugins:
    """mergePlugins: point by point."""
    if custom is None:
        return defaults
    merged = {
        item.name: merge_plugin_set(getattr(defaults, item.name), getattr(custom, item.name))
        for item in fields(defaults)
    }
    return replace(defaults, **merged)


def merge_plugin_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """mergePluginSet: defaults less the disabled, re-configured in place, then the added ones."""
    disabled_here = [*(custom.disabled or ()), *(defaults.disabled or ())]
    names = {plugin.name for plugin in disabled_here}
    given = {plugin.name: (index, plugin) for index, plugin in enumerate(custom.enabled or ())}
    replaced: set[int] = set()
    enabled: list[PluginSetEntry] = []
    for plugin in () if ALL in names else defaults.enabled or ():
        if plugin.name in names:
            continue
        if plugin.name in given:
            index, reconfigured = given[plugin.name]
            replaced.add(index)
            enabled.append(reconfigured)
        else:
            enabled.append(plugin)
    enabled += [item for index, item in enumerate(custom.enabled or ()) if index not in replaced]
    disabled = tuple(PluginSetEntry(plugin.name) for plugin in disabled_here)
    return PluginSet(tuple(enabled) or None, disabled or None)


def plugin_set(plugins: Plugins, point: str) -> PluginSet:
    """The set of one point, by the point's key (or "multiPoint")."""
    chosen: PluginSet = getattr(plugins, fields_of(Plugins)[point].attribute)
    return chosen


def needed(plugins: Plugins) -> set[str]:
    """pluginsNeeded: what some point enables."""
    sets = (getattr(plugins, item.name) for item in fields(plugins))
    return {plugin.name for chosen in sets for plugin in chosen.enabled or ()}


def expand(
    plugins: Plugins, registry: KnownPlugins, custom_multi_point: frozenset[str]
) -> dict[str, tuple[PluginRef, ...]]:
    """The plugins of every point in the order they run; weights are not set yet.

    custom_multi_point: names that the file itself enables under multiPoint. Raises FrameworkError.
    """
    present = {name: registry[name] for name in needed(plugins) if name in registry}
    absent = registry.release.rules.absent_points
    points = [point for point in POINTS if point.key not in absent]
    for point in points:
        _check_point(point, plugin_set(plugins, point.key), present)
    expanded = {}
    for point in points:
        refs = _expand_point(point, plugins, present)
        expanded[point.key] = tuple(
            PluginRef(name, 0, _origin(origin, name, custom_multi_point)) for name, origin in refs
        )
    return expanded


def _origin(origin: str, name: str, custom_multi_point: frozenset[str]) -> str:
    return "default" if origin == MULTI_POINT and name not in custom_multi_point else origin


def _check_point(
    point: ExtensionPoint, chosen: PluginSet, present: Mapping[str, KnownPlugin]
) -> None:
    """updatePluginList."""
    seen: set[str] = set()
    for plugin in chosen.enabled or ():
        if plugin.name not in present:
            raise _absent(point, plugin.name)
        if point.key not in present[plugin.name].points:
            message = f'plugin "{plugin.name}" does not extend {point.interface} plugin'
            raise FrameworkError(message, plugin=plugin.name, point=point.key)
        if plugin.name in seen:
            raise _twice(point, plugin.name, point.key)
        seen.add(plugin.name)


def _absent(point: ExtensionPoint, name: str) -> FrameworkError:
    message = f'{point.interface} "{name}" does not exist'
    return FrameworkError(message, plugin=name, point=point.key)


def _twice(point: ExtensionPoint, name: str, where: str) -> FrameworkError:
    message = f'plugin "{name}" already registered as "{point.interface}"'
    return FrameworkError(message, plugin=name, point=where)


def _expand_point(
    point: ExtensionPoint, plugins: Plugins, present: Mapping[str, KnownPlugin]
) -> list[tuple[str, str]]:
    """expandMultiPointPlugins for one point: (name, where from).

    First the plugins that are named both here and under multiPoint, as ordered here; then those of
    multiPoint; then those named here only.
    """
    chosen = plugin_set(plugins, point.key)
    own = [plugin.name for plugin in chosen.enabled or ()]
    disabled_here = {plugin.name for plugin in chosen.disabled or ()}
    if ALL in disabled_here:
        return [(name, point.key) for name in own]
    from_multi_point: list[str] = []
    overridden: set[str] = set()
    for name in _extending(point, plugins, present):
        if name in disabled_here:
            continue
        if name in own:
            overridden.add(name)
        elif name in from_multi_point:
            raise _twice(point, name, MULTI_POINT)
        else:
            from_multi_point.append(name)
    first = [(name, point.key) for name in own if name in overridden]
    last = [(name, point.key) for name in own if name not in overridden]
    return [*first, *((name, MULTI_POINT) for name in from_multi_point), *last]


def _extending(
    point: ExtensionPoint, plugins: Plugins, present: Mapping[str, KnownPlugin]
) -> Iterator[str]:
    """The names under multiPoint that extend a point."""
    for plugin in plugins.multi_point.enabled or ():
        if plugin.name not in present:
            raise _absent(point, plugin.name)
        if point.key in present[plugin.name].points:
            yield plugin.name


def score_weights(
    plugins: Plugins, registry: KnownPlugins
) -> tuple[dict[str, int], dict[str, int]]:
    """getScoreWeights: the weights of the Score plugins, and those of the placement score plugins.
    Raises FrameworkError."""
    rules = registry.release.rules
    prefix = "score plugins: " if rules.names_score_plugins else ""
    weights = _weights("score", plugins.score, plugins, registry, prefix)
    if "placementScore" in rules.absent_points:
        return weights, {}
    prefix = "placement score plugins: "
    placed = _weights("placementScore", plugins.placement_score, plugins, registry, prefix)
    return weights, placed


def _weights(
    point: str, own: PluginSet, plugins: Plugins, registry: KnownPlugins, prefix: str
) -> dict[str, int]:
    """getValidScoreWeights: the point's own weight over multiPoint's, 0 counting as 1.

    Sums wrap as Go's int64 does, so that one negative weight makes any that follows an overflow.
    Raises FrameworkError.
    """
    present = needed(plugins) & set(registry)
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*(own.enabled or ()), *(plugins.multi_point.enabled or ())):
        if plugin.name not in present:
            raise FrameworkPanicError(NIL_POINTER, plugin=plugin.name, point=MULTI_POINT)
        if point not in registry[plugin.name].points or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or 1
        share = weights[plugin.name] * _MAX_NODE_SCORE
        if share > wrap(MAX_INT64 - total):
            message = f"{prefix}total score of Score plugins could overflow"
            raise FrameworkError(message, plugin=plugin.name, point=point)
        total = wrap(total + share)
    return weights

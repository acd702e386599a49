"""What a profile of an old version means in v1: which of v1's plugins run where, with which
weights, so that it decides as it did.

Upstream's documented steps: kubernetes.io, Scheduler Configuration, "Scheduler configuration
migrations".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.migration.old_effect import Effect
from ksched_cli.config.migration.old_versions import OldVersion
from ksched_cli.kube.extension_points import POINT_KEYS

FIT = "NodeResourcesFit"
# Plugins of v1beta1 that became scoring strategies of NodeResourcesFit.
STRATEGIES: Mapping[str, str] = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
# A point that a plugin did not extend in the old version goes with another one of its points.
_GOES_WITH: Mapping[str, str] = {"preFilter": "filter", "preScore": "score"}


@dataclass(frozen=True, slots=True)
class Expected:
    """Per point of v1 the plugins that are to run and that are not, of those the old version had;
    weights: of those to run at score."""

    running: Mapping[str, tuple[str, ...]]
    absent: Mapping[str, frozenset[str]]
    weights: Mapping[str, int]

    def is_off(self, name: str) -> bool:
        """Whether a plugin of the old version is to run nowhere."""
        return not any(name in names for names in self.running.values())


@dataclass(frozen=True, slots=True)
class Strategy:
    """The plugin that scored nodes by their resources ("": none), and others that did so beside
    it, for which v1 has no place."""

    plugin: str
    others: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        return STRATEGIES.get(self.plugin, "")


def strategy_of(effect: Effect, named: Sequence[str]) -> Strategy:
    """named: what the file enables at score itself, which goes before the defaults"""
    names = (*STRATEGIES, FIT)
    scoring = [name for name in effect.plugins.get("score", ()) if name in names]
    candidates = [name for name in named if name in scoring] or scoring
    chosen = candidates[0] if candidates else ""
    return Strategy(chosen, tuple(name for name in scoring if name != chosen))


def with_strategy(effect: Effect, strategy: Strategy) -> Effect:
    """The effect with NodeResourcesFit in the place of what scored by resources."""
    weights = {
        name: weight
        for name, weight in effect.weights.items()
        if name not in STRATEGIES and name != FIT
    }
    if strategy.plugin:
        weights[FIT] = effect.weights[strategy.plugin]
    return replace(effect, plugins={**effect.plugins, "score": tuple(weights)}, weights=weights)


def expected_of(effect: Effect, version: OldVersion, registry: KnownPlugins) -> Expected:
    """effect: with_strategy's; registry: v1's plugins, with those of other builds"""
    running: dict[str, tuple[str, ...]] = {}
    absent: dict[str, frozenset[str]] = {}
    for point in POINT_KEYS:
        states = {
            name: _runs(name, point, effect, version, registry)
            for name, plugin in registry.items()
            if point in plugin.points and _is_judged(name, version, registry)
        }
        on = [name for name, runs in states.items() if runs]
        running[point] = _in_order(effect.plugins.get(point, ()), on)
        absent[point] = frozenset(name for name, runs in states.items() if runs is False)
    weights = {name: effect.weights.get(name, 1) for name in running["score"]}
    return Expected(running, absent, weights)


def _is_judged(name: str, version: OldVersion, registry: KnownPlugins) -> bool:
    """Whether the old version says what becomes of a plugin; newer versions are like v1."""
    return name in version.points or registry[name].origin != "in-tree"


def _runs(
    name: str, point: str, effect: Effect, version: OldVersion, registry: KnownPlugins
) -> bool | None:
    """None where v1 is the same: a point that the plugin did not extend, beside others."""
    if registry[name].origin != "in-tree" or point in version.points[name]:
        return effect.runs(name, point)
    if not any(name in names for names in effect.plugins.values()):
        return False
    other = _GOES_WITH.get(point, "")
    return True if other in version.points[name] and effect.runs(name, other) else None


def _in_order(first: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """The names, those that `first` has in its order."""
    ordered = [name for name in first if name in names]
    return (*ordered, *(name for name in names if name not in ordered))

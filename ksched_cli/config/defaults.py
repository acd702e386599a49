"""The defaults of what a configuration leaves out, and the default plugins merged with a profile's.

Upstream: pkg/scheduler/apis/config/v1/defaults.go and default_plugins.go (mergePlugins,
mergePluginSet). The default plugins and the args' defaults come from the registry, those of other
fields from types.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.config.effective import KnownPlugin, KnownPlugins, in_tree_args
from ksched_cli.config.go_types import with_field_defaults
from ksched_cli.config.types import (
    ALL,
    DEFAULT_SCHEDULER_NAME,
    PluginConfig,
    Plugins,
    PluginSet,
    PluginSetEntry,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.kube.gates import PLACEMENT_GATE

_PLACEMENTS = "v1.KubeSchedulerConfiguration.percentageOfPlacementsToScore"


def with_defaults(
    configuration: SchedulerConfiguration, registry: KnownPlugins
) -> SchedulerConfiguration:
    """SetDefaults_KubeSchedulerConfiguration."""
    configuration = with_field_defaults(configuration)
    profiles = configuration.profiles or (SchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    # Plugins are merged, args defaulted, and missing args appended. Upstream:
    # setDefaults_KubeSchedulerProfile.
    completed = []
    args_by_plugin = in_tree_args(registry)
    for profile in profiles:
        plugins = merge_plugins(default_plugins(registry), profile.plugins)
        given = {config.name for config in profile.plugin_config or ()}
        missing = [name for name in sorted(plugins.names() - given) if name in args_by_plugin]
        configs = tuple(
            replace(config, args=args_by_plugin[config.name].with_defaults(config.args))
            if config.name in args_by_plugin
            else config
            for config in (
                *(profile.plugin_config or ()),
                *(PluginConfig(name, args_by_plugin[name].type()) for name in missing),
            )
        )
        completed.append(replace(profile, plugins=plugins, plugin_config=configs))
    placements = configuration.percentage_of_placements_to_score
    release = registry.release
    if placements is None and release.enabled(PLACEMENT_GATE):
        placements = None if _PLACEMENTS in release.rules.absent_fields else 0
    contention = configuration.enable_contention_profiling
    if contention is None and configuration.enable_profiling:
        contention = True
    return replace(
        configuration,
        enable_contention_profiling=contention,
        percentage_of_placements_to_score=placements,
        profiles=tuple(completed),
    )


def default_plugins(registry: KnownPlugins) -> Plugins:
    """getDefaultPlugins: what the in-tree plugins' descriptors say."""
    enabled = tuple(
        PluginSetEntry(plugin.name, plugin.default_weight)
        for plugin in registry.values()
        if plugin.enabled_by_default
    )
    disabled = tuple(
        PluginSetEntry(plugin.name) for plugin in registry.values() if plugin.is_off_at_reserve
    )
    return Plugins(
        multi_point=PluginSet(enabled=enabled), reserve=PluginSet(disabled=disabled or None)
    )


def merge_plugins(defaults: Plugins, custom: Plugins | None) -> Plugins:
    """mergePlugins: point by point."""
    if custom is None:
        return defaults
    return Plugins.each(lambda key: merge_plugin_set(defaults.at(key), custom.at(key)))


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


def profile_with_plugins(plugins: Iterable[KnownPlugin]) -> dict[str, Any]:
    """Return a configuration, as plain data without apiVersion and kind, for plugins that no file
    configures: the default profile with these plugins at every point they extend. A queue sort
    plugin takes the place of the default one."""
    added = list(plugins)
    enabled: dict[str, Any] = {
        "multiPoint": {"enabled": [{"name": plugin.name} for plugin in added]}
    }
    queue_sorts = [{"name": plugin.name} for plugin in added if "queueSort" in plugin.points]
    if queue_sorts:
        enabled["queueSort"] = {"enabled": queue_sorts, "disabled": [{"name": "*"}]}
    return {"profiles": [{"plugins": enabled}]}

"""The defaults of what a configuration leaves out.

Upstream: pkg/scheduler/apis/config/v1/defaults.go and default_plugins.go, component-base
config/v1alpha1/defaults.go. The default plugins and the args' defaults come from the registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from ksched_cli.config.effective import KnownPlugin, KnownPlugins, in_tree_args
from ksched_cli.config.go_types import or_default
from ksched_cli.config.merge import merge_plugins
from ksched_cli.config.types import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    LeaderElection,
    PluginConfig,
    Plugins,
    PluginSet,
    PluginSetEntry,
    SchedulerConfiguration,
    SchedulerProfile,
)

_SECOND = 10**9


def default_plugins(registry: KnownPlugins) -> Plugins:
    """getDefaultPlugins: what the in-tree plugins' descriptors say."""
    enabled = tuple(
        PluginSetEntry(plugin.name, plugin.default_weight)
        for plugin in registry.values()
        if plugin.enabled_by_default
    )
    return Plugins(multi_point=PluginSet(enabled=enabled))


def with_defaults(
    configuration: SchedulerConfiguration, registry: KnownPlugins
) -> SchedulerConfiguration:
    """SetDefaults_KubeSchedulerConfiguration."""
    profiles = configuration.profiles or (SchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    profiling = or_default(configuration.enable_profiling, True)
    contention = configuration.enable_contention_profiling
    return replace(
        configuration,
        parallelism=or_default(configuration.parallelism, 16),
        leader_election=_leader_election(configuration.leader_election),
        client_connection=_client_connection(configuration.client_connection),
        enable_profiling=profiling,
        enable_contention_profiling=True if contention is None and profiling else contention,
        percentage_of_nodes_to_score=or_default(configuration.percentage_of_nodes_to_score, 0),
        pod_initial_backoff_seconds=or_default(configuration.pod_initial_backoff_seconds, 1),
        pod_max_backoff_seconds=or_default(configuration.pod_max_backoff_seconds, 10),
        profiles=tuple(_profile(profile, registry) for profile in profiles),
    )


def _leader_election(given: LeaderElection) -> LeaderElection:
    return LeaderElection(
        leader_elect=or_default(given.leader_elect, True),
        lease_duration=given.lease_duration or 15 * _SECOND,
        renew_deadline=given.renew_deadline or 10 * _SECOND,
        retry_period=given.retry_period or 2 * _SECOND,
        resource_lock=given.resource_lock or "leases",
        resource_name=given.resource_name or "kube-scheduler",
        resource_namespace=given.resource_namespace or "kube-system",
    )


def _client_connection(given: ClientConnection) -> ClientConnection:
    return replace(
        given,
        content_type=given.content_type or "application/vnd.kubernetes.protobuf",
        qps=given.qps or 50.0,
        burst=given.burst or 100,
    )


def _profile(profile: SchedulerProfile, registry: KnownPlugins) -> SchedulerProfile:
    """setDefaults_KubeSchedulerProfile: plugins merged, args defaulted, missing args appended."""
    plugins = merge_plugins(default_plugins(registry), profile.plugins)
    args_by_plugin = in_tree_args(registry)
    configs = [
        replace(config, args=args_by_plugin[config.name].with_defaults(config.args))
        if config.name in args_by_plugin
        else config
        for config in profile.plugin_config or ()
    ]
    given = {config.name for config in configs}
    for name in plugin_names(plugins):
        if name in args_by_plugin and name not in given:
            args = args_by_plugin[name]
            configs.append(PluginConfig(name, args.with_defaults(args.type())))
    return replace(profile, plugins=plugins, plugin_config=tuple(configs))


def plugin_names(plugins: Plugins) -> list[str]:
    """Every plugin that some point enables, sorted."""
    sets = (getattr(plugins, item.name) for item in fields(plugins))
    return sorted({plugin.name for chosen in sets for plugin in chosen.enabled or ()})


def profile_with_plugins(plugins: Iterable[KnownPlugin]) -> dict[str, Any]:
    """A configuration, as plain data without apiVersion and kind, for plugins that no file
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

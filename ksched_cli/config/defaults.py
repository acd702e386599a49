"""What a configuration leaves out, filled in.

Upstream: pkg/scheduler/apis/config/v1/defaults.go and default_plugins.go (getDefaultPlugins with
the default feature gates), component-base/config/v1alpha1/defaults.go.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from ksched_cli.config.merge import merge_plugins
from ksched_cli.config.types import (
    API_VERSION,
    ARGS_TYPES,
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    LeaderElection,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
    PodTopologySpreadArgs,
    ResourceSpec,
    SchedulerConfiguration,
    SchedulerProfile,
    ScoringStrategy,
    VolumeBindingArgs,
)

_SECOND = 10**9
_CPU_AND_MEMORY = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))

DEFAULT_MULTI_POINT: tuple[Plugin, ...] = (
    Plugin("SchedulingGates"),
    Plugin("PrioritySort"),
    Plugin("NodeUnschedulable"),
    Plugin("NodeName"),
    Plugin("TaintToleration", 3),
    Plugin("NodeAffinity", 2),
    Plugin("NodePorts"),
    Plugin("NodeResourcesFit", 1),
    Plugin("VolumeRestrictions"),
    Plugin("NodeVolumeLimits"),
    Plugin("VolumeBinding"),
    Plugin("VolumeZone"),
    Plugin("PodTopologySpread", 2),
    Plugin("InterPodAffinity", 2),
    Plugin("DynamicResources"),
    Plugin("DefaultPreemption"),
    Plugin("NodeResourcesBalancedAllocation", 1),
    Plugin("ImageLocality", 1),
    Plugin("DefaultBinder"),
)
DEFAULT_PLUGINS = Plugins(multi_point=PluginSet(enabled=DEFAULT_MULTI_POINT))


def default_configuration_source() -> SchedulerConfiguration:
    """The configuration of an empty file."""
    return with_defaults(SchedulerConfiguration())


def with_defaults(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """SetDefaults_KubeSchedulerConfiguration."""
    profiles = configuration.profiles or (SchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    profiling = _or(configuration.enable_profiling, True)
    contention = configuration.enable_contention_profiling
    return replace(
        configuration,
        parallelism=_or(configuration.parallelism, 16),
        leader_election=_leader_election(configuration.leader_election),
        client_connection=_client_connection(configuration.client_connection),
        enable_profiling=profiling,
        enable_contention_profiling=True if contention is None and profiling else contention,
        percentage_of_nodes_to_score=_or(configuration.percentage_of_nodes_to_score, 0),
        pod_initial_backoff_seconds=_or(configuration.pod_initial_backoff_seconds, 1),
        pod_max_backoff_seconds=_or(configuration.pod_max_backoff_seconds, 10),
        profiles=tuple(_profile(profile) for profile in profiles),
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _leader_election(given: LeaderElection) -> LeaderElection:
    return LeaderElection(
        leader_elect=_or(given.leader_elect, True),
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


def _profile(profile: SchedulerProfile) -> SchedulerProfile:
    """setDefaults_KubeSchedulerProfile: plugins merged, args defaulted, missing args appended."""
    plugins = merge_plugins(DEFAULT_PLUGINS, profile.plugins)
    configs = [
        replace(config, args=default_args(config.name, config.args))
        for config in profile.plugin_config or ()
    ]
    given = {config.name for config in configs}
    configs += [
        PluginConfig(name, default_args(name, ARGS_TYPES[name]()))
        for name in plugin_names(plugins)
        if name in ARGS_TYPES and name not in given
    ]
    return replace(profile, plugins=plugins, plugin_config=tuple(configs))


def plugin_names(plugins: Plugins) -> list[str]:
    """Every plugin that some point enables, sorted."""
    sets = (getattr(plugins, item.name) for item in fields(plugins))
    return sorted({plugin.name for chosen in sets for plugin in chosen.enabled or ()})


def default_args(name: str, args: Any) -> Any:
    """The SetDefaults function of one plugin's args; foreign args pass unchanged."""
    if name not in ARGS_TYPES:
        return args
    args = replace(args, kind=f"{name}Args", api_version=API_VERSION)
    match args:
        case DefaultPreemptionArgs():
            return replace(
                args,
                min_candidate_nodes_percentage=_or(args.min_candidate_nodes_percentage, 10),
                min_candidate_nodes_absolute=_or(args.min_candidate_nodes_absolute, 100),
            )
        case DynamicResourcesArgs():
            return replace(args, filter_timeout=_or(args.filter_timeout, 10 * _SECOND))
        case InterPodAffinityArgs():
            return replace(args, hard_pod_affinity_weight=_or(args.hard_pod_affinity_weight, 1))
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_resources(args.resources))
        case NodeResourcesFitArgs():
            return replace(args, scoring_strategy=_scoring_strategy(args.scoring_strategy))
        case PodTopologySpreadArgs():
            return replace(args, defaulting_type=args.defaulting_type or "System")
        case VolumeBindingArgs():
            return replace(args, bind_timeout_seconds=_or(args.bind_timeout_seconds, 600))
    return args


def _resources(given: tuple[ResourceSpec, ...] | None) -> tuple[ResourceSpec, ...]:
    """cpu and memory, unless some are named; a weight of 0 counts as not given."""
    return tuple(replace(item, weight=item.weight or 1) for item in given or _CPU_AND_MEMORY)


def _scoring_strategy(given: ScoringStrategy | None) -> ScoringStrategy:
    if given is None:
        return ScoringStrategy("LeastAllocated", _CPU_AND_MEMORY)
    return replace(given, resources=_resources(given.resources))

"""What happens when kube-scheduler starts with a configuration: extenders, plugins, profiles.

Upstream: pkg/scheduler/scheduler.go (New, buildExtenders), profile/profile.go (NewMap, validate),
framework/runtime/framework.go (NewFramework), and the New function of every plugin with args.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ksched_cli.config.effective import Configuration, KnownPlugins, PluginRef, Profile
from ksched_cli.config.extender_tls import transport_fault
from ksched_cli.config.in_tree_args import StartupCrash
from ksched_cli.config.merge import (
    MULTI_POINT,
    NIL_POINTER,
    FrameworkError,
    FrameworkPanicError,
    expand,
    needed,
    plugin_set,
    score_weights,
)
from ksched_cli.config.types import (
    PluginConfig,
    Plugins,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.kube.field_errors import FieldError, aggregate

_FIVE_SECONDS = 5 * 10**9
# The plugin whose args buildExtenders changes.
_RESOURCES_FIT = "NodeResourcesFit"


@dataclass(frozen=True, slots=True)
class StartupError:
    """One reason why a scheduler does not start.

    message:  kube-scheduler's whole text
    profile:  index of the profile, None for an extender's fault
    extender: index of the extender
    fields:   the field errors inside the args of `plugin`
    panics:   kube-scheduler crashes
    crash:    what in the args of `plugin` it crashes at
    """

    message: str
    profile: int | None = None
    extender: int | None = None
    plugin: str = ""
    point: str = ""
    fields: tuple[FieldError, ...] = ()
    panics: bool = False
    crash: StartupCrash | None = None


def start_faults(
    given: SchedulerConfiguration, defaulted: SchedulerConfiguration, known: KnownPlugins
) -> list[StartupError]:
    """Every fault; kube-scheduler stops at the first. given: as decoded; defaulted: filled in."""
    faults = list(_extender_faults(defaulted))
    configuration = _with_ignored_resources(defaulted)
    queue_sorts: list[tuple[str, Any]] = []
    for index, profile in enumerate(configuration.profiles or ()):
        found = list(_profile_faults(index, profile, _custom_names(given, index), known))
        faults += found
        if not found:
            faults += _queue_sort_faults(index, profile, known, queue_sorts)
    return faults


def build(
    given: SchedulerConfiguration, defaulted: SchedulerConfiguration, known: KnownPlugins
) -> Configuration:
    """The effective configuration of one that starts. Raises FrameworkError for any other."""
    configuration = _with_ignored_resources(defaulted)
    profiles = tuple(
        _profile(profile, _custom_names(given, index), known)
        for index, profile in enumerate(configuration.profiles or ())
    )
    extenders = tuple(
        replace(extender, http_timeout=extender.http_timeout or _FIVE_SECONDS)
        for extender in configuration.extenders or ()
    )
    return Configuration(
        profiles=profiles,
        extenders=extenders,
        parallelism=configuration.parallelism or 0,
        percentage_of_nodes_to_score=configuration.percentage_of_nodes_to_score or 0,
        pod_initial_backoff_seconds=configuration.pod_initial_backoff_seconds or 0,
        pod_max_backoff_seconds=configuration.pod_max_backoff_seconds or 0,
        source=configuration,
    )


def build_profile(
    given: SchedulerConfiguration,
    defaulted: SchedulerConfiguration,
    index: int,
    known: KnownPlugins,
) -> Profile:
    """One profile alone, whatever is wrong with the others. Raises FrameworkError."""
    profiles = _with_ignored_resources(defaulted).profiles or ()
    return _profile(profiles[index], _custom_names(given, index), known)


def _custom_names(given: SchedulerConfiguration, index: int) -> frozenset[str]:
    """What the file itself enables under multiPoint."""
    profiles = given.profiles or ()
    plugins = profiles[index].plugins if index < len(profiles) else None
    chosen = plugin_set(plugins, MULTI_POINT).enabled if plugins else None
    return frozenset(plugin.name for plugin in chosen or ())


def _extender_faults(configuration: SchedulerConfiguration) -> Iterator[StartupError]:
    for index, extender in enumerate(configuration.extenders or ()):
        fault = transport_fault(extender)
        if fault is not None:
            yield StartupError(f"couldn't build extenders: {fault}", extender=index)


def _with_ignored_resources(configuration: SchedulerConfiguration) -> SchedulerConfiguration:
    """buildExtenders: what an extender manages alone replaces the ignoredResources of the args."""
    ignored = tuple(
        resource.name
        for extender in configuration.extenders or ()
        for resource in extender.managed_resources or ()
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return configuration
    profiles = []
    for profile in configuration.profiles or ():
        configs = tuple(_ignoring(config, ignored) for config in profile.plugin_config or ())
        profiles.append(replace(profile, plugin_config=configs))
    return replace(configuration, profiles=tuple(profiles))


def _ignoring(config: PluginConfig, ignored: tuple[str, ...]) -> PluginConfig:
    if config.name != _RESOURCES_FIT:
        return config
    return replace(config, args=replace(config.args, ignored_resources=ignored))


def _profile_faults(
    index: int, profile: SchedulerProfile, custom: frozenset[str], known: KnownPlugins
) -> Iterator[StartupError]:
    """In NewFramework's order: plugins are made, then placed, then counted."""
    said = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}: "
    yield from _plugin_faults(index, said, profile, known)
    try:
        _placed(profile, custom, known)
    except FrameworkError as error:
        panics = isinstance(error, FrameworkPanicError)
        message = error.message if panics else said + error.message
        yield StartupError(message, index, plugin=error.plugin, point=error.point, panics=panics)


def _plugin_faults(
    index: int, said: str, profile: SchedulerProfile, known: KnownPlugins
) -> Iterator[StartupError]:
    """What each needed plugin's New refuses. Upstream's order is a map's; ours is by name."""
    enabled = needed(profile.plugins or Plugins()) & set(known)
    args = {config.name: config.args for config in profile.plugin_config or ()}
    for name in sorted(enabled):
        in_tree_args = known[name].in_tree_args
        errors = tuple(known[name].check_args(args.get(name)))
        if errors:
            message = f'{said}initializing plugin "{name}": {aggregate(errors)}'
            yield StartupError(message, index, plugin=name, fields=errors)
        elif in_tree_args is not None:
            crash = in_tree_args.startup_crash(args[name])
            if crash is not None:
                yield StartupError(NIL_POINTER, index, plugin=name, panics=True, crash=crash)


def _placed(
    profile: SchedulerProfile, custom: frozenset[str], known: KnownPlugins
) -> tuple[dict[str, tuple[PluginRef, ...]], dict[str, int]]:
    """The plugins per point and the weights. Raises FrameworkError."""
    plugins = profile.plugins or Plugins()
    placed = expand(plugins, known, custom)
    name = profile.scheduler_name
    if len(placed["queueSort"]) != 1:
        raise FrameworkError(
            f'only one queue sort plugin required for profile with scheduler name "{name}",'
            f" but got {len(placed['queueSort'])}",
            point="queueSort",
        )
    if not placed["bind"]:
        message = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
        raise FrameworkError(message, point="bind")
    return placed, score_weights(plugins, known)


def _queue_sort_faults(
    index: int, profile: SchedulerProfile, known: KnownPlugins, seen: list[tuple[str, Any]]
) -> Iterator[StartupError]:
    """cfgValidator.validate; `seen` keeps the first profile's queue sort plugin and its args."""
    placed, _ = _placed(profile, frozenset(), known)
    name = placed["queueSort"][0].name
    args = next((item.args for item in profile.plugin_config or () if item.name == name), None)
    if not seen:
        seen.append((name, args))
        return
    scheduler = profile.scheduler_name
    said = "initializing profiles: different queue sort plugin"
    if seen[0][0] != name:
        yield StartupError(
            f'{said}s for profile "{scheduler}": "{name}", first: "{seen[0][0]}"',
            index,
            plugin=name,
            point="queueSort",
        )
    elif seen[0][1] != args:
        message = f'{said} args for profile "{scheduler}"'
        yield StartupError(message, index, plugin=name, point="queueSort")


def _profile(profile: SchedulerProfile, custom: frozenset[str], known: KnownPlugins) -> Profile:
    placed, weights = _placed(profile, custom, known)
    scoring = {ref.name: weights[ref.name] for ref in placed["score"]}
    placed["score"] = tuple(replace(ref, weight=scoring[ref.name]) for ref in placed["score"])
    enabled = needed(profile.plugins or Plugins()) & set(known)
    return Profile(
        scheduler_name=profile.scheduler_name or "",
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        plugins=placed,
        weights=scoring,
        args={
            config.name: config.args
            for config in sorted(profile.plugin_config or (), key=lambda item: item.name)
            if config.name in enabled and config.args is not None
        },
    )

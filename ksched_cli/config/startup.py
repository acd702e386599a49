"""The start of kube-scheduler with a configuration: extenders, plugins, profiles.

Upstream: pkg/scheduler/scheduler.go (New, buildExtenders), profile/profile.go (NewMap, validate),
framework/runtime/framework.go (NewFramework), and the New function of every plugin with args.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ksched_cli.config.effective import Configuration, KnownPlugins, PluginRef, Profile
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
    Extender,
    ExtenderTLSConfig,
    PluginConfig,
    Plugins,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.formatting import aggregate
from ksched_cli.kube.versions import Release

_FIVE_SECONDS = 5 * 10**9
# The plugin whose args buildExtenders changes.
_RESOURCES_FIT = "NodeResourcesFit"


@dataclass(frozen=True, slots=True)
class StartupError:
    """One reason why a scheduler does not start.

    message:  kube-scheduler's whole text
    profile:  index of the profile, None for an extender's error
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


@dataclass(frozen=True, slots=True)
class Startup:
    """A start with a configuration.

    errors:        every one; kube-scheduler stops at the first
    profiles:      the effective ones, None for a profile whose plugins cannot be placed
    configuration: the effective one, None where a profile is None
    """

    errors: tuple[StartupError, ...]
    profiles: tuple[Profile | None, ...]
    configuration: Configuration | None


def start(
    given: SchedulerConfiguration,
    defaulted: SchedulerConfiguration,
    registry: KnownPlugins,
    *,
    reads_files: bool = True,
) -> Startup:
    """given: as decoded; defaulted: with defaults; reads_files: see transport_error"""
    errors = list(_extender_errors(defaulted, reads_files))
    configuration = _with_ignored_resources(defaulted)
    profiles: list[Profile | None] = []
    queue_sorts: list[tuple[str, Any]] = []
    for index, profile in enumerate(configuration.profiles or ()):
        error_count = len(errors)
        prefix = (
            f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}: "
        )
        # NewFramework's order: plugins are made, then placed, then counted.
        errors += _plugin_errors(index, prefix, profile, registry)
        try:
            effective = _profile(configuration, profile, _custom_names(given, index), registry)
        except FrameworkError as error:
            errors.append(_startup_error(index, prefix, error))
            profiles.append(None)
            continue
        profiles.append(effective)
        if len(errors) == error_count:
            name = effective.plugins["queueSort"][0].name
            errors += _queue_sort_errors(index, profile, name, queue_sorts)
    effective_configuration = _configuration(configuration, profiles, registry.release)
    return Startup(tuple(errors), tuple(profiles), effective_configuration)


def _configuration(
    configuration: SchedulerConfiguration, profiles: list[Profile | None], release: Release
) -> Configuration | None:
    effective = tuple(profile for profile in profiles if profile is not None)
    if len(effective) < len(profiles):
        return None
    extenders = tuple(
        replace(extender, http_timeout=extender.http_timeout or _FIVE_SECONDS)
        for extender in configuration.extenders or ()
    )
    return Configuration(
        profiles=effective,
        extenders=extenders,
        parallelism=configuration.parallelism or 0,
        pod_initial_backoff_seconds=configuration.pod_initial_backoff_seconds or 0,
        pod_max_backoff_seconds=configuration.pod_max_backoff_seconds or 0,
        source=configuration,
        release=release,
    )


def _custom_names(given: SchedulerConfiguration, index: int) -> frozenset[str]:
    """Return what the file itself enables under multiPoint."""
    profiles = given.profiles or ()
    plugins = profiles[index].plugins if index < len(profiles) else None
    chosen = plugin_set(plugins, MULTI_POINT).enabled if plugins else None
    return frozenset(plugin.name for plugin in chosen or ())


def _extender_errors(
    configuration: SchedulerConfiguration, reads_files: bool
) -> Iterator[StartupError]:
    for index, extender in enumerate(configuration.extenders or ()):
        error = transport_error(extender, reads_files=reads_files)
        if error is not None:
            yield StartupError(f"couldn't build extenders: {error}", extender=index)


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


def _startup_error(index: int, prefix: str, error: FrameworkError) -> StartupError:
    panics = isinstance(error, FrameworkPanicError)
    message = error.message if panics else prefix + error.message
    return StartupError(message, index, plugin=error.plugin, point=error.point, panics=panics)


def _plugin_errors(
    index: int, prefix: str, profile: SchedulerProfile, registry: KnownPlugins
) -> Iterator[StartupError]:
    """Return what each needed plugin's New refuses. Upstream's order is a map's; ours is by
    name."""
    enabled = needed(profile.plugins or Plugins()) & set(registry)
    args = {config.name: config.args for config in profile.plugin_config or ()}
    for name in sorted(enabled):
        in_tree_args = registry[name].in_tree_args
        field_errors = tuple(registry[name].check_args(args.get(name)))
        if field_errors:
            detail = aggregate(error.text() for error in field_errors)
            message = f'{prefix}initializing plugin "{name}": {detail}'
            yield StartupError(message, index, plugin=name, fields=field_errors)
        elif in_tree_args is not None:
            crash = in_tree_args.startup_crash(args[name])
            if crash is not None:
                yield StartupError(NIL_POINTER, index, plugin=name, panics=True, crash=crash)


def _placed(
    profile: SchedulerProfile, custom: frozenset[str], registry: KnownPlugins
) -> tuple[dict[str, tuple[PluginRef, ...]], dict[str, int], dict[str, int]]:
    """The plugins per point, and the weights of score and placement score plugins. Raises
    FrameworkError."""
    plugins = profile.plugins or Plugins()
    placed = expand(plugins, registry, custom)
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
    if len(placed.get("placementGenerate", ())) > 1:
        message = (
            "at most one placement generate plugin is allowed for profile with scheduler name"
            f' "{name}"'
        )
        raise FrameworkError(message, point="placementGenerate")
    return placed, *score_weights(plugins, registry)


def _queue_sort_errors(
    index: int, profile: SchedulerProfile, name: str, seen: list[tuple[str, Any]]
) -> Iterator[StartupError]:
    """cfgValidator.validate. name: the queue sort plugin; seen: that of the first profile and its
    args."""
    args = next((item.args for item in profile.plugin_config or () if item.name == name), None)
    if not seen:
        seen.append((name, args))
        return
    scheduler = profile.scheduler_name
    prefix = "initializing profiles: different queue sort plugin"
    if seen[0][0] != name:
        yield StartupError(
            f'{prefix}s for profile "{scheduler}": "{name}", first: "{seen[0][0]}"',
            index,
            plugin=name,
            point="queueSort",
        )
    elif seen[0][1] != args:
        message = f'{prefix} args for profile "{scheduler}"'
        yield StartupError(message, index, plugin=name, point="queueSort")


def _profile(
    configuration: SchedulerConfiguration,
    profile: SchedulerProfile,
    custom: frozenset[str],
    registry: KnownPlugins,
) -> Profile:
    """The effective profile. Raises FrameworkError."""
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = configuration.percentage_of_nodes_to_score or 0
    placed, weights, placement_weights = _placed(profile, custom, registry)
    scoring = {ref.name: weights[ref.name] for ref in placed["score"]}
    placed["score"] = tuple(replace(ref, weight=scoring[ref.name]) for ref in placed["score"])
    enabled = needed(profile.plugins or Plugins()) & set(registry)
    return Profile(
        scheduler_name=profile.scheduler_name or "",
        percentage_of_nodes_to_score=percentage,
        plugins=placed,
        weights=scoring,
        placement_weights=placement_weights,
        args={
            config.name: config.args
            for config in sorted(profile.plugin_config or (), key=lambda item: item.name)
            if config.name in enabled and config.args is not None
        },
    )


_BOTH = "specifying a root certificates file with the insecure flag is not allowed"
_REASONS = {2: "no such file or directory", 13: "permission denied", 20: "not a directory"}


def tls_files(extender: Extender) -> dict[str, str]:
    """The files that an extender's TLS is read from, by their keys."""
    tls = extender.tls_config or ExtenderTLSConfig()
    named = {
        "caFile": "" if tls.ca_data else tls.ca_file,
        "certFile": "" if tls.cert_data else tls.cert_file,
        "keyFile": "" if tls.key_data else tls.key_file,
    }
    return {key: file for key, file in named.items() if file}


def transport_error(extender: Extender, *, reads_files: bool = True) -> str | None:
    """Why no connection can be made, in upstream's words. Whether contents are certificates is
    judged only as far as being PEM goes.

    reads_files: as kube-scheduler does when it starts, where it runs

    Upstream: pkg/scheduler/extender.go (makeTransport), client-go transport.TLSConfigFor.
    """
    tls = extender.tls_config or ExtenderTLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    has_certificate = bool(tls.cert_file or tls.cert_data) and bool(tls.key_file or tls.key_data)
    insecure = tls.insecure or (extender.enable_https and not has_ca)
    if not (has_ca or has_certificate or insecure or tls.server_name):
        return None
    if has_ca and insecure:
        return _BOTH
    for file in tls_files(extender).values() if reads_files else ():
        error = unreadable(file)
        if error is not None:
            return error
    return _certificate_error(tls, has_ca)


def unreadable(file: str) -> str | None:
    """Return why a file cannot be read, in upstream's words."""
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except IsADirectoryError:
        return f"read {file}: is a directory"
    except OSError as error:
        number = error.errno or 0
        return f"open {file}: {_REASONS.get(number, os.strerror(number).lower())}"
    return None


def _certificate_error(tls: ExtenderTLSConfig, has_ca: bool) -> str | None:
    if has_ca and tls.ca_data and b"-----BEGIN" not in tls.ca_data:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if tls.cert_data and b"-----BEGIN" not in tls.cert_data:
        return "tls: failed to find any PEM data in certificate input"
    if tls.cert_data and tls.key_data and b"-----BEGIN" not in tls.key_data:
        return "tls: failed to find any PEM data in key input"
    return None

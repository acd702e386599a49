"""The start of kube-scheduler with a configuration: extenders, plugins, profiles.

Upstream: pkg/scheduler/scheduler.go (New, buildExtenders), profile/profile.go (NewMap, validate),
framework/runtime/framework.go (NewFramework, updatePluginList, expandMultiPointPlugins,
getScoreWeights), and the New function of every plugin with args.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.config.effective import (
    Configuration,
    KnownPlugin,
    KnownPlugins,
    PluginRef,
    Profile,
    StartupCrash,
)
from ksched_cli.config.types import (
    ALL,
    MULTI_POINT,
    Extender,
    ExtenderTLSConfig,
    Plugins,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.config.validation import worded
from ksched_cli.kube.extension_points import POINT_KEYS, interface_of
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.formatting import aggregate
from ksched_cli.kube.int64 import MAX_INT64, wrap
from ksched_cli.kube.small_files import unreadable

_FIVE_SECONDS = 5 * 10**9
_MAX_NODE_SCORE = 100
NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"
# The plugin whose args buildExtenders changes.
_RESOURCES_FIT = "NodeResourcesFit"


class FrameworkError(Exception):
    """NewFramework refuses a profile.

    rule: that the profile breaks; "" where the message says it. count: of plugins, for such a rule
    point: the key of the point it is about, if any
    """

    def __init__(
        self, message: str, *, plugin: str = "", point: str = "", rule: str = "", count: int = 0
    ) -> None:
        self.message, self.plugin, self.point = message, plugin, point
        self.rule, self.count = rule, count
        super().__init__(message)


class FrameworkPanicError(FrameworkError):
    """Upstream crashes."""


class StartupError(Struct, frozen=True):
    """One reason why a scheduler does not start.

    message:  kube-scheduler's whole text
    reason:   the part of it that says what is wrong
    rule:     see FrameworkError, as is count
    profile:  index of the profile, None for an extender's error
    extender: index of the extender
    fields:   the field errors inside the args of `plugin`
    panics:   kube-scheduler crashes
    crash:    what in the args of `plugin` it crashes at
    """

    message: str
    reason: str = ""
    rule: str = ""
    count: int = 0
    profile: int | None = None
    extender: int | None = None
    plugin: str = ""
    point: str = ""
    fields: tuple[FieldError, ...] = ()
    panics: bool = False
    crash: StartupCrash | None = None


class Startup(Struct, frozen=True):
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
    errors = [
        StartupError(f"couldn't build extenders: {error}", error, extender=index)
        for index, extender in enumerate(defaulted.extenders or ())
        if (error := transport_error(extender, reads_files=reads_files)) is not None
    ]
    configuration = _with_ignored_resources(defaulted)
    own_profiles = given.profiles or (SchedulerProfile(),)
    profiles: list[Profile | None] = []
    first_queue_sort: tuple[str, Any] | None = None
    for index, profile in enumerate(configuration.profiles or ()):
        error_count = len(errors)
        prefix = (
            f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}: "
        )
        # NewFramework's order: plugins are made, then placed, then counted.
        errors += _plugin_errors(index, prefix, profile, registry)
        custom = {
            plugin.name
            for plugin in (own_profiles[index].plugins or Plugins()).enabled(MULTI_POINT)
        }
        try:
            effective = _profile(configuration, profile, custom, registry)
        except FrameworkError as error:
            panics = isinstance(error, FrameworkPanicError)
            message = error.message if panics else prefix + error.message
            errors.append(
                StartupError(
                    message,
                    error.message,
                    error.rule,
                    error.count,
                    profile=index,
                    plugin=error.plugin,
                    point=error.point,
                    panics=panics,
                )
            )
            profiles.append(None)
            continue
        profiles.append(effective)
        if len(errors) == error_count:
            name = effective.plugins["queueSort"][0].name
            configs = profile.plugin_config or ()
            own = name, next((config.args for config in configs if config.name == name), None)
            first_queue_sort = first_queue_sort or own
            errors += _queue_sort_errors(index, profile.scheduler_name, own, first_queue_sort)
    placed = tuple(profile for profile in profiles if profile is not None)
    if len(placed) < len(profiles):
        return Startup(tuple(errors), tuple(profiles), None)
    effective_configuration = Configuration(
        profiles=placed,
        extenders=tuple(
            replace(extender, http_timeout=extender.http_timeout or _FIVE_SECONDS)
            for extender in configuration.extenders or ()
        ),
        parallelism=configuration.parallelism or 0,
        pod_initial_backoff_seconds=configuration.pod_initial_backoff_seconds or 0,
        pod_max_backoff_seconds=configuration.pod_max_backoff_seconds or 0,
        source=configuration,
        release=registry.release,
    )
    return Startup(tuple(errors), placed, effective_configuration)


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
        configs = tuple(
            replace(config, args=replace(config.args, ignored_resources=ignored))
            if config.name == _RESOURCES_FIT
            else config
            for config in profile.plugin_config or ()
        )
        profiles.append(replace(profile, plugin_config=configs))
    return replace(configuration, profiles=tuple(profiles))


def _plugin_errors(
    index: int, prefix: str, profile: SchedulerProfile, registry: KnownPlugins
) -> Iterator[StartupError]:
    """Return what each needed plugin's New refuses. Upstream's order is a map's; ours is by
    name."""
    enabled = (profile.plugins or Plugins()).names() & set(registry)
    args = {config.name: config.args for config in profile.plugin_config or ()}
    for name in sorted(enabled):
        in_tree_args = registry[name].in_tree_args
        field_errors = worded(registry[name].check_args(args.get(name)), registry.release)
        if field_errors:
            detail = aggregate(error.text() for error in field_errors)
            message = f'{prefix}initializing plugin "{name}": {detail}'
            yield StartupError(message, profile=index, plugin=name, fields=tuple(field_errors))
        elif in_tree_args is not None:
            crash = in_tree_args.startup_crash(args[name])
            if crash is not None:
                yield StartupError(
                    NIL_POINTER, profile=index, plugin=name, panics=True, crash=crash
                )


def _profile(
    configuration: SchedulerConfiguration,
    profile: SchedulerProfile,
    custom: Collection[str],
    registry: KnownPlugins,
) -> Profile:
    """Return the effective profile. custom: see `expand`. Raises FrameworkError."""
    plugins, name = profile.plugins or Plugins(), profile.scheduler_name
    placed = expand(plugins, registry, custom)
    if len(placed["queueSort"]) != 1:
        raise FrameworkError(
            f'only one queue sort plugin required for profile with scheduler name "{name}",'
            f" but got {len(placed['queueSort'])}",
            point="queueSort",
            rule="queue-sort-count",
            count=len(placed["queueSort"]),
        )
    if not placed["bind"]:
        message = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
        raise FrameworkError(message, point="bind", rule="no-bind")
    generators = placed.get("placementGenerate", ())
    if len(generators) > 1 and not registry.release.rules.merges_placements:
        message = (
            "at most one placement generate plugin is allowed for profile with scheduler name"
            f' "{name}"'
        )
        raise FrameworkError(
            message, point="placementGenerate", rule="placement-count", count=len(generators)
        )
    weights, placement_weights = score_weights(plugins, registry)
    placed["score"] = tuple(replace(ref, weight=weights[ref.name]) for ref in placed["score"])
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = configuration.percentage_of_nodes_to_score or 0
    placements = profile.percentage_of_placements_to_score
    if placements is None:
        placements = configuration.percentage_of_placements_to_score or 0
    enabled = plugins.names() & set(registry)
    return Profile(
        scheduler_name=name or "",
        percentage_of_nodes_to_score=percentage,
        plugins=placed,
        weights={ref.name: ref.weight for ref in placed["score"]},
        placement_weights=placement_weights,
        percentage_of_placements_to_score=placements,
        args={
            config.name: config.args
            for config in sorted(profile.plugin_config or (), key=lambda item: item.name)
            if config.name in enabled and config.args is not None
        },
    )


def _queue_sort_errors(
    index: int, scheduler: str | None, own: tuple[str, Any], first: tuple[str, Any]
) -> Iterator[StartupError]:
    """cfgValidator.validate. own: the profile's queue sort plugin and its args; first: those of the
    first profile"""
    reason = ""
    if first[0] != own[0]:
        reason = (
            f'different queue sort plugins for profile "{scheduler}": "{own[0]}",'
            f' first: "{first[0]}"'
        )
    elif first[1] != own[1]:
        reason = f'different queue sort plugin args for profile "{scheduler}"'
    if reason:
        message = f"initializing profiles: {reason}"
        yield StartupError(message, reason, profile=index, plugin=own[0], point="queueSort")


# -- plugins per point ----------------------------------------------------------------------------


def expand(
    plugins: Plugins, registry: KnownPlugins, custom: Collection[str] = ()
) -> dict[str, tuple[PluginRef, ...]]:
    """Return the plugins of every point in the order they run; weights are not set yet.

    custom: names that the file itself enables under multiPoint. Raises FrameworkError.
    """
    present = {name: registry[name] for name in plugins.names() if name in registry}
    points = [key for key in POINT_KEYS if key not in registry.release.rules.absent_points]
    for point in points:
        # Upstream: updatePluginList.
        seen: set[str] = set()
        for plugin in plugins.enabled(point):
            if plugin.name not in present:
                raise _absent(point, plugin.name)
            if point not in present[plugin.name].points:
                message = f'plugin "{plugin.name}" does not extend {interface_of(point)} plugin'
                raise FrameworkError(message, plugin=plugin.name, point=point)
            if plugin.name in seen:
                raise _twice(point, plugin.name, point)
            seen.add(plugin.name)
    return {
        point: tuple(
            PluginRef(
                name, 0, "default" if origin == MULTI_POINT and name not in custom else origin
            )
            for name, origin in _expand_point(point, plugins, present)
        )
        for point in points
    }


def _absent(point: str, name: str) -> FrameworkError:
    message = f'{interface_of(point)} "{name}" does not exist'
    return FrameworkError(message, plugin=name, point=point)


def _twice(point: str, name: str, where: str) -> FrameworkError:
    message = f'plugin "{name}" already registered as "{interface_of(point)}"'
    return FrameworkError(message, plugin=name, point=where, rule="twice")


def _expand_point(
    point: str, plugins: Plugins, present: Mapping[str, KnownPlugin]
) -> list[tuple[str, str]]:
    """expandMultiPointPlugins for one point: (name, where from).

    First the plugins that are named both here and under multiPoint, as ordered here; then those of
    multiPoint; then those named here only.
    """
    own = [plugin.name for plugin in plugins.enabled(point)]
    disabled_here = {plugin.name for plugin in plugins.at(point).disabled or ()}
    if ALL in disabled_here:
        return [(name, point) for name in own]
    from_multi_point: list[str] = []
    overridden: set[str] = set()
    for name in (plugin.name for plugin in plugins.enabled(MULTI_POINT)):
        if name not in present:
            raise _absent(point, name)
        if point not in present[name].points or name in disabled_here:
            continue
        if name in own:
            overridden.add(name)
        elif name in from_multi_point:
            raise _twice(point, name, MULTI_POINT)
        else:
            from_multi_point.append(name)
    first = [(name, point) for name in own if name in overridden]
    last = [(name, point) for name in own if name not in overridden]
    return [*first, *((name, MULTI_POINT) for name in from_multi_point), *last]


def score_weights(
    plugins: Plugins, registry: KnownPlugins
) -> tuple[dict[str, int], dict[str, int]]:
    """getScoreWeights: the weights of the Score plugins, and those of the placement score plugins.
    Raises FrameworkError."""
    rules = registry.release.rules
    prefix = "score plugins: " if rules.names_score_plugins else ""
    weights = _weights("score", plugins, registry, prefix)
    if "placementScore" in rules.absent_points:
        return weights, {}
    return weights, _weights("placementScore", plugins, registry, "placement score plugins: ")


def _weights(point: str, plugins: Plugins, registry: KnownPlugins, prefix: str) -> dict[str, int]:
    """getValidScoreWeights: the point's own weight over multiPoint's, 0 counting as 1.

    Sums wrap as Go's int64 does, so that one negative weight makes any that follows an overflow.
    Raises FrameworkError.
    """
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.enabled(point), *plugins.enabled(MULTI_POINT)):
        if plugin.name not in registry:
            raise FrameworkPanicError(NIL_POINTER, plugin=plugin.name, point=MULTI_POINT)
        if point not in registry[plugin.name].points or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or 1
        share = weights[plugin.name] * _MAX_NODE_SCORE
        if share > wrap(MAX_INT64 - total):
            message = f"{prefix}total score of Score plugins could overflow"
            raise FrameworkError(message, plugin=plugin.name, point=point, rule="overflow")
        total = wrap(total + share)
    return weights


# -- TLS of extenders -----------------------------------------------------------------------------

_BOTH = "specifying a root certificates file with the insecure flag is not allowed"


def tls_files(extender: Extender) -> dict[str, str]:
    """Return the files that an extender's TLS is read from, by their keys."""
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

    reads_files: whether files that cannot be read are an error, as for kube-scheduler when it
        starts; ksched opens them when it calls the extender

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
    if tls.ca_data and b"-----BEGIN" not in tls.ca_data:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    if tls.cert_data and b"-----BEGIN" not in tls.cert_data:
        return "tls: failed to find any PEM data in certificate input"
    if tls.cert_data and tls.key_data and b"-----BEGIN" not in tls.key_data:
        return "tls: failed to find any PEM data in key input"
    return None

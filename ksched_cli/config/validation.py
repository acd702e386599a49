"""kube-scheduler's checks of a whole configuration, after defaulting.

Upstream: pkg/scheduler/apis/config/validation/validation.go (ValidateKubeSchedulerConfiguration)
and component-base/config/validation. Errors come in upstream's order; `text` sorts them, as
upstream collects some of them from a map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ksched_cli.config.effective import InTreeArgs, KnownPlugins, in_tree_args
from ksched_cli.config.go_types import to_wire
from ksched_cli.config.types import (
    API_VERSION,
    Extender,
    PluginConfig,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.field_errors import (
    RANGE,
    FieldError,
    NameProblem,
    as_qualified_names,
    duplicate,
    forbidden,
    invalid,
    is_extended_resource_name,
    qualified_name_problems,
    required,
)
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.gates import PLACEMENT_GATE
from ksched_cli.kube.versions import Release

REMOVED_IN_V1 = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
# Upstream looks the check of NodeResourcesFit's args up under the name of their type: it runs only
# when the plugin is made, and args of a plugin of that name are refused.
_UNCHECKED = "NodeResourcesFit"
_MISNAMED = "NodeResourcesFitArgs"
# Up to 1.37, upstream does not look for removed plugins there.
_UNCHECKED_POINTS = frozenset({"placementGenerate", "placementScore"})
_NEEDS_GATE = f"percentageOfPlacementsToScore requires {PLACEMENT_GATE} feature gate to be enabled"
_PERCENT = "not in valid range [0-100]"
_SAME = "must be the same for all profiles"

Errors = Iterator[FieldError]
ArgsByPlugin = Mapping[str, InTreeArgs[Any]]


def validate(configuration: SchedulerConfiguration, registry: KnownPlugins) -> list[FieldError]:
    """Return every error, in upstream's order. configuration: with defaults."""
    errors = _errors(configuration, in_tree_args(registry), registry.release)
    return worded(errors, registry.release)


def worded(errors: Iterable[FieldError], release: Release) -> list[FieldError]:
    """Return the errors in the words of the release."""
    return list(errors) if release.rules.names_label_keys else as_qualified_names(errors)


def text(errors: Iterable[FieldError]) -> str:
    """Return the errors as one text, a line each, sorted."""
    return "\n".join(sorted(error.text() for error in errors))


def _errors(
    configuration: SchedulerConfiguration, args_by_plugin: ArgsByPlugin, release: Release
) -> Errors:
    burst = configuration.client_connection.burst
    if burst < 0:
        yield invalid("clientConnection.burst", burst, "must be non-negative", "negative")
    # Required values cannot be missing after defaulting, so they are not asked for.
    election = configuration.leader_election
    if election.leader_elect:
        for key, value in (
            ("leaseDuration", election.lease_duration),
            ("renewDeadline", election.renew_deadline),
            ("retryPeriod", election.retry_period),
        ):
            if value <= 0:
                where = f"leaderElection.{key}"
                yield invalid(where, duration_text(value), "must be greater than zero", "positive")
        if election.lease_duration <= election.renew_deadline:
            yield invalid(
                "leaderElection.leaseDuration",
                duration_text(election.renew_deadline),
                "must be greater than `RenewDeadline`",
                "lease",
            )
        if election.resource_lock != "leases":
            yield invalid(
                "leaderElection.resourceLock",
                election.resource_lock,
                'resourceLock value must be "leases"',
                "resource-lock",
            )
    parallelism = configuration.parallelism or 0
    if parallelism <= 0:
        detail = "should be an integer value greater than zero"
        yield invalid("parallelism", parallelism, detail, "positive")
    profiles = configuration.profiles or ()
    yield from _profiles(profiles, args_by_plugin, release)
    yield from _queue_sort(profiles)
    yield from _percentages("", configuration, release)
    initial = configuration.pod_initial_backoff_seconds or 0
    longest = configuration.pod_max_backoff_seconds or 0
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0", "positive")
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", longest, detail, "max-backoff")
    yield from _extenders(configuration.extenders or ())


def _percentage(path: str, value: int | None) -> Errors:
    if value is not None and not 0 <= value <= 100:
        yield invalid(path, value, _PERCENT, RANGE, "from 0 to 100")


def _percentages(
    path: str, within: SchedulerConfiguration | SchedulerProfile, release: Release
) -> Errors:
    yield from _percentage(f"{path}percentageOfNodesToScore", within.percentage_of_nodes_to_score)
    percentage = within.percentage_of_placements_to_score
    where = f"{path}percentageOfPlacementsToScore"
    if percentage is not None and not release.enabled(PLACEMENT_GATE):
        yield forbidden(where, _NEEDS_GATE)
    else:
        yield from _percentage(where, percentage)


def _profiles(
    profiles: tuple[SchedulerProfile, ...], args_by_plugin: ArgsByPlugin, release: Release
) -> Errors:
    unchecked = frozenset() if release.rules.checks_group_points else _UNCHECKED_POINTS
    seen = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        name = profile.scheduler_name or ""
        if not name:
            yield required(f"{path}.schedulerName")
        yield from _percentages(f"{path}.", profile, release)
        for point in POINT_KEYS:
            for at, plugin in enumerate((profile.plugins or Plugins()).enabled(point)):
                if plugin.name in REMOVED_IN_V1 and point not in unchecked:
                    yield _removed(f"{path}.plugins.{point}.enabled[{at}]", plugin.name)
        yield from _plugin_config(path, profile.plugin_config or (), args_by_plugin)
        if name in seen:
            # Upstream hands over a path where a value belongs; as JSON it is an empty object.
            yield duplicate(f"{path}.schedulerName", {})
        seen.add(name)


def _removed(path: str, name: str) -> FieldError:
    """Upstream compares with core/v1's version, hence the "v1"."""
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    return invalid(path, name, detail, "removed")


def _plugin_config(
    path: str, configs: tuple[PluginConfig, ...], args_by_plugin: ArgsByPlugin
) -> Errors:
    seen = set()
    for index, config in enumerate(configs):
        where = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            yield duplicate(where, config.name)
        seen.add(config.name)
        if config.name in REMOVED_IN_V1:
            yield _removed(where, config.name)
        elif config.name == _MISNAMED:
            yield invalid(f"{where}.args", config.args, "has to match plugin args", "misnamed-args")
        elif config.name in args_by_plugin and config.name != _UNCHECKED:
            yield from args_by_plugin[config.name].errors(config.args, f"{where}.args")


def _queue_sort(profiles: tuple[SchedulerProfile, ...]) -> Errors:
    """validateCommonQueueSort."""
    sets = [(profile.plugins or Plugins()).queue_sort for profile in profiles]
    canon = sets[0]
    enabled = canon.enabled or ()
    if len(enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        yield invalid(
            "profiles[0].plugins.queueSort.Enabled", len(enabled), detail, "one-queue-sort"
        )
    name = enabled[0].name if enabled else ""
    first = [config.args for config in profiles[0].plugin_config or () if config.name == name]
    args = first[-1] if name and first else None
    for index in range(1, len(profiles)):
        if _pairs(sets[index]) != _pairs(canon):
            path = f"profiles[{index}].plugins.queueSort"
            # The internal type has no JSON tags, so Go's field names are printed.
            lists = ("Enabled", sets[index].enabled), ("Disabled", sets[index].disabled)
            shown = {
                key: None
                if plugins is None
                else [{"Name": plugin.name, "Weight": plugin.weight or 0} for plugin in plugins]
                for key, plugins in lists
            }
            yield invalid(path, shown, _SAME, "queue-sort")
        for config in profiles[index].plugin_config or ():
            if config.name == name and config.args != args:
                path = f"profiles[{index}].pluginConfig.args"
                yield invalid(path, to_wire(config.args), f"queueSort {_SAME}", "queue-sort")


def _pairs(chosen: PluginSet) -> Any:
    """Return what apiequality compares: nil and empty are the same."""
    return tuple(
        [(plugin.name, plugin.weight or 0) for plugin in plugins or ()]
        for plugins in (chosen.enabled, chosen.disabled)
    )


def _extenders(extenders: tuple[Extender, ...]) -> Errors:
    binders = sum(1 for extender in extenders if extender.bind_verb)
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            yield invalid(f"{path}.weight", extender.weight, detail, "extender-weight")
        for resource_index, resource in enumerate(extender.managed_resources or ()):
            where = f"{path}.managedResources[{resource_index}].name"
            # validateExtendedResourceName
            problems = qualified_name_problems(resource.name)
            if not problems and not is_extended_resource_name(resource.name):
                text = "is an invalid extended resource name"
                problems = [NameProblem(text, "extended-resource")]
            for problem in problems:
                yield invalid(where, resource.name, *problem)
            if resource.name in managed:
                detail = "duplicate extender managed resource name"
                yield invalid(where, resource.name, detail, "managed-twice")
            managed.add(resource.name)
    if binders > 1:
        value = f"found {binders} extenders implementing bind"
        yield invalid("extenders", value, "only one extender can implement bind", "one-binder")

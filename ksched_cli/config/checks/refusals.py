"""kube-scheduler's refusals as findings: the same checks, each with its place and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from ksched_cli import program_name
from ksched_cli.config.checks.findings import Edit, Findings
from ksched_cli.config.checks.known_names import name_tables, read_table
from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.startup import StartupError
from ksched_cli.config.types import (
    ALL,
    API_VERSION,
    GROUP,
    KIND,
    MULTI_POINT,
    SchedulerConfiguration,
    enabled_plugins,
)
from ksched_cli.kube.documents import Path, parse_path
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.field_errors import RANGE, ErrorType, FieldError
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.near_names import did_you_mean, nearest

# -- checks ---------------------------------------------------------------------------------------


class _Wording(msgspec.Struct, frozen=True):
    message: str
    hint: str = ""


class _ExplanationTables(msgspec.Struct, frozen=True):
    """refusals.yaml, whose comments say what each table is."""

    wordings: Mapping[str, _Wording]
    left_out: Mapping[str, str]
    missing: Mapping[str, str]


@cache
def _tables() -> _ExplanationTables:
    return read_table(__file__, _ExplanationTables)


def explanation(error: FieldError, key: str) -> tuple[str, str]:
    """Message and hint. key: the last step of the error's path"""
    if not error.path:  # args as a whole: the plugin says which field it means
        return _by_type(error, key)
    left_out = _tables().left_out.get(key)
    leave_out = f"leave it out for {left_out}" if left_out else ""
    if error.rule == RANGE:
        return f"{key} is {error.value}, and must be {error.values[0]}", leave_out
    if error.rule == "removed":
        name = error.value.strip('"')
        return f"v1 has no plugin {name}", name_tables().removed_plugins.get(name, "remove it")
    if error.rule:
        wording, values = _tables().wordings[error.rule], {"key": key, "value": error.value}
        return wording.message.format(**values), wording.hint.format(**values) or leave_out
    return _by_type(error, key)


def _by_type(error: FieldError, key: str) -> tuple[str, str]:
    detail, value = error.detail, error.value
    match error.type, key:
        case ErrorType.REQUIRED, "schedulerName":
            hint = "add one; with several profiles, each requires its own name"
            return "the profile has no schedulerName", hint
        case ErrorType.REQUIRED, _:
            return f"{key} is missing", _tables().missing.get(key, detail)
        case ErrorType.DUPLICATE, "schedulerName":
            return "another profile already has this schedulerName", "give each its own"
        case ErrorType.DUPLICATE, _:
            return f"{value} appears twice", "keep one of them"
        case ErrorType.FORBIDDEN, _:
            return f"{key} is not allowed here: {detail}", "remove it"
        case ErrorType.UNSUPPORTED, _:
            near = _nearest_value(error)
            hint = f'did you mean "{near}"?' if near else f"write one of {', '.join(error.values)}"
            return f"{key} cannot be {value}", hint
    detail = detail if detail.startswith("not ") else f"not valid: {detail}"
    return f"{key}: {value} is {detail}", ""


def _nearest_value(error: FieldError) -> str:
    """Return the supported value that was likely meant, or ""."""
    return nearest(error.value.strip('"'), error.values)


_ALLOW = (
    f"`{program_name()} plugins` lists the known ones; --allow-plugins accepts plugins of "
    "another build"
)
_KEEP_QUEUE_SORT = "leave PrioritySort on: one plugin must order the queue"
_OVERFLOW = "{}'s weight {} makes the sum of all weights overflow, and kube-scheduler refuses that"
_POSITIVE = "write a weight above 0; to leave the plugin out, disable it at score"
_KEEP_BIND = "leave DefaultBinder on, or enable another bind plugin"


def check_kind(data: Any, release_version: str, findings: Findings) -> bool:
    """Return whether the object is a KubeSchedulerConfiguration of any version; says what it is
    else.

    release_version: of kube-scheduler, as "v1.34.1"
    """
    if not isinstance(data, dict):
        content = {type(None): "empty", list: "a list"}.get(type(data), "a single value")
        hint = f"begin the file with apiVersion: {API_VERSION} and kind: {KIND}"
        findings.error("not-an-object", (), f"the document is {content}, not an object", hint)
        return False
    kind = data.get("kind")
    if not kind:
        path: Path = ("kind",) if "kind" in data else ()
        edit = Edit(("kind",), KIND)
        findings.error("no-kind", path, "kind is missing", f"add kind: {KIND}", edit)
    elif kind != KIND:
        hint = name_tables().other_kinds.get(str(kind), "").format(program=program_name())
        near = Edit(("kind",), KIND) if not hint and nearest(str(kind), [KIND]) else None
        hint = hint or did_you_mean(str(kind), [KIND]) or f"expected {KIND}"
        message = f'"{kind}" is not a scheduler configuration'
        findings.error("wrong-kind", ("kind",), message, hint, near)
    version = data.get("apiVersion")
    if version != API_VERSION and (kind == KIND or "apiVersion" not in data):
        _wrong_version(data, version, release_version, findings)
    return kind == KIND or kind is None


def _wrong_version(
    data: dict[str, Any], version: Any, release_version: str, findings: Findings
) -> None:
    if not version:
        path: Path = ("apiVersion",) if "apiVersion" in data else ()
        hint = f"add apiVersion: {API_VERSION}"
        edit = Edit(("apiVersion",), API_VERSION)
        findings.error("no-version", path, "apiVersion is missing", hint, edit)
        return
    group, _, name = str(version).rpartition("/")
    if group == GROUP and name in name_tables().old_versions:
        last, changes = name_tables().old_versions[name]
        message = f"kube-scheduler up to {last} read {name}; {release_version} reads only v1"
        hint = f"`{program_name()} config migrate` writes it as {API_VERSION}"
        findings.error("old-version", ("apiVersion",), message, hint)
        for change in changes:
            findings.inform("changed-since", ("apiVersion",), f"since {name}: {change}")
        return
    message, hint = f'"{version}" is not a version of {KIND}', f"write apiVersion: {API_VERSION}"
    edit = Edit(("apiVersion",), API_VERSION)
    findings.error("wrong-version", ("apiVersion",), message, hint, edit)


def check_args_kind(
    configuration: SchedulerConfiguration, data: Any, registry: KnownPlugins, findings: Findings
) -> None:
    """Args may repeat kind and apiVersion, and then rightly."""
    args_by_plugin = in_tree_args(registry)
    for profile_index, profile in enumerate(configuration.profiles or ()):
        for index, config in enumerate(profile.plugin_config or ()):
            path: Path = ("profiles", profile_index, "pluginConfig", index, "args")
            args = value_at(data, path)
            if config.name not in args_by_plugin or not isinstance(args, dict):
                continue
            kind, version = args.get("kind"), args.get("apiVersion")
            if isinstance(kind, str) and kind not in ("", f"{config.name}Args"):
                message = f"these are {kind}, but the plugin is {config.name}"
                hint = f"write kind: {config.name}Args, or leave it out"
                edit = Edit((*path, "kind"), f"{config.name}Args")
                findings.error("args-kind", (*path, "kind"), message, hint, edit)
            if isinstance(version, str) and version not in ("", API_VERSION):
                message = f'"{version}" is not a version of these args'
                hint = f"write apiVersion: {API_VERSION}, or leave it out"
                edit = Edit((*path, "apiVersion"), API_VERSION)
                findings.error("args-version", (*path, "apiVersion"), message, hint, edit)


def add_field_error(error: FieldError, prefix: Path, findings: Findings) -> None:
    """Add one of upstream's field errors. prefix: where its path begins in the file."""
    # Upstream leaves out a level of the shape's path, and capitalises a Go field's name.
    shape = "scoringStrategy.requestedToCapacityRatio.shape"
    nested = error.path.replace("scoringStrategy.shape", shape)
    nested = nested.replace(".queueSort.Enabled", ".queueSort.enabled")
    path = (*prefix, *parse_path(nested))
    names = [step for step in path if isinstance(step, str)]
    message, hint = explanation(error, names[-1] if names else "")
    edit = None
    if error.type is ErrorType.UNSUPPORTED and (near := _nearest_value(error)):
        edit = Edit(path, near)
    findings.error(_RULES[error.type], path, message, hint, edit)


_RULES = {
    ErrorType.INVALID: "invalid-value",
    ErrorType.REQUIRED: "missing-value",
    ErrorType.DUPLICATE: "duplicate-value",
    ErrorType.FORBIDDEN: "forbidden-value",
    ErrorType.UNSUPPORTED: "unsupported-value",
}


def check_names(
    configuration: SchedulerConfiguration, registry: KnownPlugins, findings: Findings
) -> None:
    """Every plugin that the file enables: is it there, does it extend the point, is it twice? And
    does anybody know what one of another build extends?"""
    seen: set[tuple[Path, str]] = set()
    for path, point, plugin in enabled_plugins(configuration):
        if (path[:-1], plugin.name) in seen and point != MULTI_POINT:
            message = f"{plugin.name} is enabled twice at {point}"
            findings.error("plugin-twice", path, message, "keep one of them")
        seen.add((path[:-1], plugin.name))
        if plugin.name not in registry:
            message, hint = unknown_plugin(plugin.name, registry)
            near = nearest(plugin.name, registry) if hint.startswith("did you mean") else ""
            edit = Edit((*path, "name"), near) if near else None
            findings.error("unknown-plugin", path, message, hint, edit)
        elif point != MULTI_POINT and point not in registry[plugin.name].points:
            extends = [key for key in POINT_KEYS if key in registry[plugin.name].points]
            message = f"{plugin.name} does not extend {point}"
            findings.error("wrong-point", path, message, f"it extends {', '.join(extends)}")
        elif not registry[plugin.name].points:
            message = f"the extension points of {plugin.name} are unknown; ksched assumes none"
            hint = f"name them, such as --allow-plugins {plugin.name}=filter+score"
            findings.inform("points-unknown", path, message, hint)


def unknown_plugin(name: str, registry: KnownPlugins) -> tuple[str, str]:
    """Message and hint for a plugin that is not there: removed, of another build, or misspelt."""
    if not name:
        return "the plugin has no name", ""
    if name == ALL:
        return '"*" cannot be enabled', "use it in a disabled list only, where it means all plugins"
    tables = name_tables()
    if name in tables.removed_plugins:
        message = f"{registry.release.version} has no plugin {name} any more"
        return message, tables.removed_plugins[name]
    if name in tables.policy_names:
        message = f"{name} is a name of the removed Policy API"
        return message, f"use {tables.policy_names[name]}"
    if project := tables.project_of(name):
        message = f"{name} is known but not installed"
        hint = f"it comes with {project}, not with kube-scheduler"
        if name in tables.distributions:
            hint += f"; in a checkout of ksched: pip install {tables.distributions[name]}"
        hint += f". --allow-plugins {name} accepts it"
        return message, hint
    hint = did_you_mean(name, registry) or did_you_mean(name, tables.foreign_plugins)
    return f'unknown plugin "{name}"', hint or _ALLOW


def add_startup_error(
    error: StartupError, given: SchedulerConfiguration, findings: Findings
) -> None:
    """Add why the scheduler would not start, unless check_names has said so already."""
    if error.extender is not None:
        path: Path = ("extenders", error.extender, "tlsConfig")
        hint = "give a certificate with its key, as PEM, and either insecure: true or a CA"
        findings.error("extender-tls", path, f"no TLS for this extender: {error.reason}", hint)
        return
    profile: Path = ("profiles", error.profile or 0)
    configs = given.profiles[error.profile or 0].plugin_config if given.profiles else ()
    indexes = [index for index, config in enumerate(configs or ()) if config.name == error.plugin]
    args = (*profile, "pluginConfig", *((indexes[-1], "args") if indexes else ()))
    if error.fields:
        for field_error in error.fields:
            add_field_error(field_error, args, findings)
    elif error.crash is not None:
        crash = error.crash
        findings.error(crash.rule, (*args, *parse_path(crash.path)), crash.message, crash.hint)
    else:
        _placement(error, profile, given, findings)


def _placement(
    error: StartupError, profile: Path, given: SchedulerConfiguration, findings: Findings
) -> None:
    enabled = [entry for entry in enabled_plugins(given) if entry[0][:2] == profile]
    paths = [
        path
        for path, point, plugin in enabled
        if plugin.name == error.plugin and point in (error.point, MULTI_POINT)
    ]
    if any(findings.has_error_at(path) for path in paths):
        return
    path = paths[-1] if paths else (*profile, "plugins", error.point)
    # What makes kube-scheduler's sum of weights wrap around.
    negative = [
        ((*path, "weight"), plugin)
        for path, point, plugin in enabled
        if point in ("score", MULTI_POINT) and (plugin.weight or 0) < 0
    ]
    match error.rule:
        case "overflow" if negative:
            path, plugin = negative[0]
            message = _OVERFLOW.format(plugin.name, plugin.weight)
            findings.error("plugin-set", path, message, _POSITIVE)
        case "twice":
            message = f"{error.plugin} is enabled twice under {error.point}"
            hint = "name it once, at one of its points or under multiPoint"
            findings.error("plugin-set", path, message, hint)
        case "no-bind":
            findings.error("no-bind", path, "no plugin binds pods", _KEEP_BIND)
        case "queue-sort-count":
            message = f"the profile has {error.count} queueSort plugins; exactly one is required"
            findings.error("queue-sort-count", path, message, _KEEP_QUEUE_SORT)
        case "placement-count":
            message = f"the profile has {error.count} placementGenerate plugins; only one may be"
            findings.error("plugin-set", path, message, "keep one of them")
        case _:
            findings.error("plugin-set", path, error.reason)

"""A configuration of an old version, or a Policy file, as one of v1 that takes effect as it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import structs

from ksched_cli.answers import Answer
from ksched_cli.config.allowed_plugins import AllowedPlugin, with_allowed
from ksched_cli.config.checks.known_names import name_tables, read_table
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.migration.configuration import (
    AVOID_PODS,
    AVOID_PODS_HINT,
    OldProfile,
    add_affinity,
    edit_profile,
    edit_top,
    label_requirements,
    strategy_args,
)
from ksched_cli.config.migration.old_versions import (
    OLD_VERSIONS,
    POLICY,
    STRATEGIES,
    EnabledPlugins,
    Expected,
    OldStrategy,
    OldVersion,
    enabled_names,
    expected_of,
    old_effect,
    strategy_of,
    with_strategy,
)
from ksched_cli.config.migration.settle import (
    Remark,
    RemarkKind,
    Remarks,
    list_at,
    settle,
)
from ksched_cli.config.parsing import Decoder
from ksched_cli.config.review import findings_of
from ksched_cli.config.sources import ConfigurationText
from ksched_cli.config.types import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    GROUP,
    KIND,
    Extender,
    ExtenderTLSConfig,
    SchedulerConfiguration,
    SchedulerProfile,
)
from ksched_cli.errors import ExitCode, InputError
from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Path, json_failure, yaml_failure
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.json_tree import JsonError, parse
from ksched_cli.kube.yaml_errors import YamlError

_POLICY_VERSIONS = ("v1", f"{GROUP}/v1")
_OLD_KEYS = (
    "predicates", "priorities", "hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates",
)  # fmt: skip


class ConfigurationMigration(Answer, frozen=True, kw_only=True):
    """The same configuration in the newest apiVersion.

    origin: what the file was: kubescheduler.config.k8s.io/v1beta2, or Policy
    target: of the new file
    complete: whether the new file takes effect as the old one did, as far as is checked
    text: the new file
    remarks: what was written otherwise, and what could not be carried over
    """

    COMMAND: ClassVar = "config migrate"
    VIEW: ClassVar = "configuration:migration_view"
    IS_FILE: ClassVar = True

    kind: Literal["ConfigurationMigration"] = "ConfigurationMigration"
    origin: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to", default=API_VERSION)
    complete: bool
    text: str
    remarks: tuple[Remark, ...]

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.complete)

    @classmethod
    def of(cls, origin: str, text: str, remarks: tuple[Remark, ...] = ()) -> ConfigurationMigration:
        complete = all(remark.kind is RemarkKind.CHANGED for remark in remarks)
        return cls(origin=origin, complete=complete, text=text, remarks=remarks)


def migrate_source(source: ConfigurationText, registry: KnownPlugins) -> ConfigurationMigration:
    """Migrate as `migrate` does; errors and remarks have their places in the file that holds the
    text."""
    try:
        migration = migrate(source.text, source.path, registry)
    except InputError as error:
        raise source.located(error) from None
    # Lines of the new file remain, and so does a remark about the whole of the old one.
    remarks = (
        remark
        if remark.kind is RemarkKind.REFUSED or remark.line is None
        else structs.replace(remark, line=source.place.position(remark.line, None).line)
        for remark in migration.remarks
    )
    return structs.replace(migration, remarks=tuple(remarks))


def migrate(text: str, source_name: str, registry: KnownPlugins) -> ConfigurationMigration:
    """Migrate a configuration to the current version. Raises InputError where the text is not a
    configuration of a version that is migrated."""
    try:
        document = EditableDocument(text)
    except YamlError as error:
        raise yaml_failure(error, source_name) from None
    except ValueError as error:
        try:
            parse(text)
        except JsonError as failure:
            raise json_failure(text, failure, source_name) from None
        raise InputError(source_name, f"cannot be migrated: {str(error).lower()}") from None
    data = document.data
    if not isinstance(data, Mapping):
        raise InputError(source_name, f"this is no {KIND}", hint="nor a Policy")
    kind, version = str(data.get("kind") or ""), str(data.get("apiVersion") or "")
    remarks = Remarks(text)
    if kind == "Policy" and version in _POLICY_VERSIONS:
        return _migrate_policy(document, registry, remarks)
    group, _, name = version.rpartition("/")
    if kind != KIND or group != GROUP or name not in (*OLD_VERSIONS, "v1"):
        shown = f"{kind or 'no kind'} of {version or 'no apiVersion'}"
        raise InputError(
            source_name,
            f"{shown} cannot be migrated",
            hint=f"Expected {KIND} of {GROUP}/v1beta1, v1beta2 or v1beta3, or a Policy.",
        )
    if name == "v1":
        return ConfigurationMigration.of(version, text)
    return _migrate_configuration(document, source_name, OLD_VERSIONS[name], registry, remarks)


# -- v1beta1, v1beta2, v1beta3 --------------------------------------------------------------------


def _migrate_configuration(
    document: EditableDocument,
    source_name: str,
    version: OldVersion,
    registry: KnownPlugins,
    remarks: Remarks,
) -> ConfigurationMigration:
    """Migrate a configuration of a former version. Raises InputError where a value is of another
    type than its field."""
    origin = str(document.data["apiVersion"])
    decoder = Decoder()
    configuration = decoder.decode(document.data, SchedulerConfiguration)
    if decoder.fatal is not None:
        raise InputError(
            source_name, decoder.fatal, hint="No kube-scheduler reads this file; correct it first."
        )
    # The plugins of v1, and those of other builds that the file names, taken as there.
    names = {
        name
        for profile in configuration.profiles or ()
        for name in enabled_names(profile.plugins, (*POINT_KEYS, "multiPoint"))
    }
    foreign = sorted(
        names - set(version.points) - set(registry) - set(name_tables().removed_plugins)
    )
    registry = with_allowed(registry, map(AllowedPlugin, foreign), configuration)
    old_registry = version.plugins(registry)
    profiles = configuration.profiles or (SchedulerProfile(),)
    expected: list[Expected] = []
    edit_top(document, version, remarks)
    for index, profile in enumerate(profiles):
        effect = old_effect(version, profile.plugins, old_registry)
        named = enabled_names(profile.plugins, ("score",))
        strategy = strategy_of(effect, named)
        edit_profile(
            OldProfile(index, effect, strategy, named, version, registry, document, remarks)
        )
        expected.append(expected_of(with_strategy(effect, strategy), version, registry))
    _finish(document, expected, registry, remarks, version.name)
    return ConfigurationMigration.of(origin, document.text, remarks.in_order())


def _finish(
    document: EditableDocument,
    expected: Sequence[Expected],
    registry: KnownPlugins,
    remarks: Remarks,
    origin: str,
) -> None:
    """Make the document take effect as expected, and say what was done for it, and what it does
    not."""
    if document.get(("profiles",)) is None:
        document.put(("profiles",), [{"schedulerName": DEFAULT_SCHEDULER_NAME}])
    judgement, differences, weights = settle(document, expected, registry)
    for index, by_name in weights.items():
        if origin in OLD_VERSIONS:
            listed = ", ".join(f"{name} {weight}" for name, weight in sorted(by_name.items()))
            message = f"weights that {origin} had by default are written out: {listed}"
            hint = "take them out for v1's own, which are higher"
            remarks.changed(("profiles", index), message, hint)
    if document.changed_style:
        hint = "an edit of an anchor would change every place that uses it"
        remarks.lost((), "anchors are written out, and comments are not kept", hint)
    for difference in differences:
        path = f"profiles[{difference.profile}].plugins.{difference.point}"
        name = difference.name or "the order"
        message = f"{name} is {_shown(difference.actual)}; it was {_shown(difference.expected)}"
        remarks.put(Remark(RemarkKind.DIFFERS, path, None, message))
    for finding in () if judgement.verdict.accepts else findings_of(document.text, judgement):
        if finding.refused:
            place = finding.path, finding.line
            remarks.put(Remark(RemarkKind.REFUSED, *place, finding.message, finding.hint))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(value) if isinstance(value, list) else f"on with weight {value}"


# -- Policy ---------------------------------------------------------------------------------------
# A Policy file's predicates and priorities as plugins.
#
# Upstream: v1.22 pkg/scheduler/framework/plugins/legacy_registry.go (which plugins a name stands
# for), factory.go (createFromPolicy), k8s.io/kube-scheduler/config/v1 (the file's fields).


class _Tables(msgspec.Struct, frozen=True):
    """migrate.yaml, whose comments say what each table is."""

    predicates: Mapping[str, tuple[str, ...]]
    mandatory: tuple[str, ...]
    not_by_default: frozenset[str]
    priorities: Mapping[str, str]
    default_weights: Mapping[str, int]
    points: Mapping[str, tuple[str, ...]]


_TABLES = read_table(__file__, _Tables)
_ALIASES = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}
_ALWAYS = {"queueSort": "PrioritySort", "postFilter": "DefaultPreemption", "bind": "DefaultBinder"}
_SERVICE = "no plugin looks at the pods of a service; see InterPodAffinity and PodTopologySpread"


@dataclass(slots=True)
class PolicyPlugins:
    """The meaning of a Policy in v1, filled in entry after entry.

    priorities: weight by name; labels: requirements that predicates have of nodes' labels;
    ratio: the args of RequestedToCapacityRatio
    """

    predicates: dict[str, None] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    labels: list[dict[str, Any]] = field(default_factory=list)
    ratio: Mapping[str, Any] = field(default_factory=dict)

    def effect(self) -> EnabledPlugins:
        """Return the plugins per point, by their names in v1.22."""
        points: dict[str, list[str]] = {point: [name] for point, name in _ALWAYS.items()}
        for predicate in self.predicates:
            for plugin in _TABLES.predicates[predicate]:
                for point in _TABLES.points.get(plugin, ("preFilter", "filter")):
                    points.setdefault(point, []).append(plugin)
        weights: dict[str, int] = {}
        for priority in sorted(self.priorities):
            weights.setdefault(_TABLES.priorities[priority], self.priorities[priority])
        points["score"] = points["preScore"] = list(weights)
        names = {point: tuple(dict.fromkeys(names)) for point, names in points.items()}
        return EnabledPlugins(names, weights)

    def args(self, hard_weight: int, strategy: str) -> list[dict[str, Any]]:
        """pluginConfig, but for what the labels need. strategy: the plugin that scores by
        resources"""
        configs: list[dict[str, Any]] = []
        kind = STRATEGIES.get(strategy, "")
        if kind and kind != "LeastAllocated":
            ratio = self.ratio if strategy == "RequestedToCapacityRatio" else {}
            args = {"scoringStrategy": strategy_args(kind, ratio)}
            configs.append({"name": "NodeResourcesFit", "args": args})
        if hard_weight and "InterPodAffinityPriority" in self.priorities:
            weight = {"hardPodAffinityWeight": hard_weight}
            configs.append({"name": "InterPodAffinity", "args": weight})
        spreads = "SelectorSpreadPriority" in self.priorities
        if "EvenPodsSpreadPriority" in self.priorities and not spreads:
            configs.append({"name": "PodTopologySpread", "args": {"defaultingType": "List"}})
        return configs


def read_policy(policy: Mapping[str, Any], remarks: Remarks) -> PolicyPlugins:
    """Return what the predicates and priorities of a Policy mean in v1."""
    plugins = PolicyPlugins()
    predicates, priorities = policy.get("predicates"), policy.get("priorities")
    if predicates is None:
        plugins.predicates = dict.fromkeys(
            name for name in _TABLES.predicates if name not in _TABLES.not_by_default
        )
    for index, entry in enumerate(predicates if isinstance(predicates, list) else ()):
        path = ("predicates", index)
        predicate, argument = _arguments(entry)
        if predicate in _TABLES.predicates:
            plugins.predicates[predicate] = None
        elif isinstance(argument.get("labelsPresence"), Mapping):
            labels = argument["labelsPresence"].get("labels")
            sides = (labels, None) if argument["labelsPresence"].get("presence") else (None, labels)
            plugins.labels += label_requirements(*sides)
        elif "serviceAffinity" in argument or predicate == "CheckServiceAffinity":
            remarks.lost(
                path, f'"{predicate}" is gone: pods of a service are not held together', _SERVICE
            )
        else:
            remarks.lost(path, f'there is no predicate "{predicate}"', "v1.22 refused the file")
    plugins.predicates |= dict.fromkeys(_TABLES.mandatory)
    if priorities is None:
        plugins.priorities = dict(_TABLES.default_weights)
    for index, entry in enumerate(priorities if isinstance(priorities, list) else ()):
        _priority(("priorities", index), entry, plugins, remarks)
    if policy.get("alwaysCheckAllPredicates"):
        message = "alwaysCheckAllPredicates is gone: the first plugin that rejects a node decides"
        hint = "the same nodes are rejected; messages name fewer reasons"
        remarks.lost(("alwaysCheckAllPredicates",), message, hint)
    if priorities is None and "NodePreferAvoidPodsPriority" in plugins.priorities:
        remarks.changed(("priorities",), AVOID_PODS, AVOID_PODS_HINT)
    return plugins


def _arguments(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Name and argument of a predicate or priority."""
    if not isinstance(entry, Mapping):
        return "", {}
    argument = entry.get("argument")
    return str(entry.get("name") or ""), argument if isinstance(argument, Mapping) else {}


def _priority(path: Path, entry: Any, plugins: PolicyPlugins, remarks: Remarks) -> None:
    name, argument = _arguments(entry)
    name = _ALIASES.get(name, name)
    weight = entry.get("weight") if isinstance(entry, Mapping) else None
    weight = weight if isinstance(weight, int) else 0
    ratio = argument.get("requestedToCapacityRatioArguments")
    if name == "EqualPriority":
        remarks.changed(path, "EqualPriority is left out: it favours no node")
    elif name == "NodePreferAvoidPodsPriority":
        remarks.lost(path, AVOID_PODS, AVOID_PODS_HINT)
    elif name in _TABLES.priorities and name != "RequestedToCapacityRatio":
        plugins.priorities[name] = weight
    elif isinstance(ratio, Mapping):
        plugins.priorities["RequestedToCapacityRatio"] = weight
        plugins.ratio = ratio
    elif "labelPreference" in argument:
        hint = "NodeAffinity's addedAffinity may prefer nodes, weighed with what pods prefer"
        remarks.lost(path, f'"{name}" preferred nodes by a label; v1 has no such score', hint)
    elif "serviceAntiAffinity" in argument:
        remarks.lost(path, f'"{name}" is gone: pods of a service are not spread', _SERVICE)
    else:
        remarks.lost(path, f'there is no priority "{name}"', "v1.22 refused the file")


def strategy_names(plugins: PolicyPlugins) -> Sequence[str]:
    """Return the plugins that score by resources, the heaviest first."""
    weights = plugins.effect().weights
    return sorted((name for name in weights if name in STRATEGIES), key=lambda item: -weights[item])


def _migrate_policy(
    document: EditableDocument, registry: KnownPlugins, remarks: Remarks
) -> ConfigurationMigration:
    policy = dict(document.data)
    plugins = read_policy(policy, remarks)
    names = strategy_names(plugins)
    strategy = OldStrategy(names[0], tuple(names[1:])) if names else OldStrategy("")
    for name in strategy.others:
        message = f"{name} scored too; v1 has one scoring strategy, that of {strategy.plugin}"
        remarks.lost(("priorities",), message)
    document.put(("apiVersion",), API_VERSION)
    document.put(("kind",), KIND)
    for key in _OLD_KEYS:
        if key in document.data:
            document.delete((key,))
    edit_extenders(document, remarks)
    document.put(("profiles",), [{"schedulerName": DEFAULT_SCHEDULER_NAME}])
    effect = plugins.effect()
    profile = OldProfile(0, effect, strategy, (), POLICY, registry, document, remarks)
    weight = policy.get("hardPodAffinitySymmetricWeight")
    args = plugins.args(weight if isinstance(weight, int) else 0, strategy.plugin)
    if args:
        document.put(("profiles", 0, "pluginConfig"), args)
    if plugins.labels:
        add_affinity(profile, ("predicates",), plugins.labels)
    expected = expected_of(with_strategy(effect, strategy), POLICY, registry)
    _finish(document, [expected], registry, remarks, "Policy")
    return ConfigurationMigration.of("Policy", document.text, remarks.in_order())


_KEYS = {key.casefold(): key for key in Extender.FIELDS}
_TLS_KEYS = {key.casefold(): key for key in ExtenderTLSConfig.FIELDS}


def edit_extenders(document: EditableDocument, remarks: Remarks) -> None:
    """Write the keys of a Policy file's extenders in v1's form, and timeouts with their unit.

    Upstream: LegacyExtender of k8s.io/kube-scheduler/config/v1 (v0.22), whose keys are read in any
    case of letters, and whose httpTimeout is a number of nanoseconds.
    """
    for index, extender in enumerate(list_at(document, ("extenders",))):
        if isinstance(extender, Mapping):
            path = ("extenders", index)
            for key in list(extender):
                name, value = _KEYS.get(key.casefold(), key), extender[key]
                if name == "httpTimeout" and isinstance(value, int):
                    value = duration_text(value)
                    message = f"httpTimeout {extender[key]} (nanoseconds) is {value} now"
                    remarks.changed((*path, key), message)
                if name == "tlsConfig" and isinstance(value, Mapping):
                    value = {_TLS_KEYS.get(own.casefold(), own): value[own] for own in value}
                if name != key:
                    document.delete((*path, key))
                if (name, value) != (key, extender.get(key)):
                    document.put((*path, name), value)

"""A Policy file's predicates and priorities as plugins.

Upstream: v1.22 pkg/scheduler/framework/plugins/legacy_registry.go (which plugins a name stands
for), factory.go (createFromPolicy), k8s.io/kube-scheduler/config/v1 (the file's fields).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ksched_cli.config.migration.configuration import (
    AVOID_PODS,
    AVOID_PODS_HINT,
    label_requirements,
    strategy_args,
)
from ksched_cli.config.migration.expected import STRATEGIES
from ksched_cli.config.migration.old_effect import Effect
from ksched_cli.config.migration.remarks import Remarks
from ksched_cli.config.tables import read_table
from ksched_cli.kube.documents import Path


class _Tables(msgspec.Struct, frozen=True):
    """policy.yaml, whose comments say what each table is."""

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

    def effect(self) -> Effect:
        """The plugins per point, by their names in v1.22."""
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
        return Effect(names, weights)

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
        _predicate(("predicates", index), entry, plugins, remarks)
    plugins.predicates |= dict.fromkeys(_TABLES.mandatory)
    if priorities is None:
        plugins.priorities = dict(_TABLES.default_weights)
    for index, entry in enumerate(priorities if isinstance(priorities, list) else ()):
        _priority(("priorities", index), entry, plugins, remarks)
    _remark_on_rest(policy, plugins, remarks)
    return plugins


def _remark_on_rest(policy: Mapping[str, Any], plugins: PolicyPlugins, remarks: Remarks) -> None:
    if policy.get("alwaysCheckAllPredicates"):
        message = "alwaysCheckAllPredicates is gone: the first plugin that rejects a node decides"
        hint = "the same nodes are rejected; messages name fewer reasons"
        remarks.lost(("alwaysCheckAllPredicates",), message, hint)
    if policy.get("priorities") is None and "NodePreferAvoidPodsPriority" in plugins.priorities:
        remarks.changed(("priorities",), AVOID_PODS, AVOID_PODS_HINT)


def _arguments(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Name and argument of a predicate or priority."""
    if not isinstance(entry, Mapping):
        return "", {}
    argument = entry.get("argument")
    return str(entry.get("name") or ""), argument if isinstance(argument, Mapping) else {}


def _predicate(path: Path, entry: Any, plugins: PolicyPlugins, remarks: Remarks) -> None:
    name, argument = _arguments(entry)
    if name in _TABLES.predicates:
        plugins.predicates[name] = None
    elif isinstance(argument.get("labelsPresence"), Mapping):
        presence = argument["labelsPresence"]
        labels = presence.get("labels")
        present = bool(presence.get("presence"))
        plugins.labels += label_requirements(
            labels if present else None, None if present else labels
        )
    elif "serviceAffinity" in argument or name == "CheckServiceAffinity":
        remarks.lost(path, f'"{name}" is gone: pods of a service are not held together', _SERVICE)
    else:
        remarks.lost(path, f'there is no predicate "{name}"', "v1.22 refused the file")


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
    """The plugins that score by resources, the heaviest first."""
    weights = plugins.effect().weights
    return sorted((name for name in weights if name in STRATEGIES), key=lambda item: -weights[item])

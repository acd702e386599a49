"""The checks of plugin args, run when a file is validated and again when the plugin starts.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go,
component-helpers/scheduling/corev1/nodeaffinity, apimachinery labels.NewRequirement.
Paths begin with `path`, which is empty when a plugin starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.config.types import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodTopologySpreadArgs,
    TopologySpreadConstraint,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    distinct,
    duplicate,
    forbidden,
    invalid,
    label_name_errors,
    label_value_problems,
    qualified_name_problems,
    required,
    unsupported,
)
from ksched_cli.kube.formatting import duration_text

STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INT64 = re.compile(r"[+-]?[0-9]+")

Errors = list[FieldError]


def default_preemption(args: DefaultPreemptionArgs, path: str) -> Errors:
    """ValidateDefaultPreemptionArgs."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    errors = []
    if percentage is not None and not 0 <= percentage <= 100:
        errors.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute is not None and absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        same_time = "cannot be zero at the same time as"
        errors.append(invalid(percentage_path, 0, f"{same_time} minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, 0, f"{same_time} minCandidateNodesPercentage"))
    return errors


def inter_pod_affinity(args: InterPodAffinityArgs, path: str) -> Errors:
    """ValidateInterPodAffinityArgs."""
    weight = args.hard_pod_affinity_weight
    if weight is None or 0 <= weight <= 100:
        return []
    return [invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]


def balanced_allocation(args: NodeResourcesBalancedAllocationArgs, path: str) -> Errors:
    """ValidateNodeResourcesBalancedAllocationArgs."""
    errors = []
    seen = set()
    for index, resource in enumerate(args.resources or ()):
        where = f"{child(path, 'resources')}[{index}]"
        if resource.name in seen:
            errors.append(duplicate(f"{where}.name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
    return distinct(errors)


def resources_fit(args: NodeResourcesFitArgs, path: str) -> Errors:
    """ValidateNodeResourcesFitArgs."""
    errors: Errors = []
    for index, name in enumerate(args.ignored_resources or ()):
        errors += label_name_errors(name, f"{child(path, 'ignoredResources')}[{index}]")
    for index, group in enumerate(args.ignored_resource_groups or ()):
        where = f"{child(path, 'ignoredResourceGroups')}[{index}]"
        if "/" in group:
            errors.append(invalid(where, group, "resource group name can't contain '/'"))
        errors += label_name_errors(group, where)
    strategy = args.scoring_strategy
    if strategy is None:
        return distinct(errors)
    strategy_path = child(path, "scoringStrategy")
    if strategy.type not in STRATEGIES:
        errors.append(unsupported(f"{strategy_path}.type", strategy.type, STRATEGIES))
    for index, resource in enumerate(strategy.resources or ()):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            where = f"{strategy_path}.resources[{index}].weight"
            errors.append(invalid(where, resource.weight, detail))
    if strategy.requested_to_capacity_ratio is not None:
        shape = strategy.requested_to_capacity_ratio.shape or ()
        errors += _shape(shape, f"{strategy_path}.shape")
    return distinct(errors)


def _shape(shape: Sequence[UtilizationShapePoint], path: str) -> Errors:
    """validateFunctionShape."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            where, value = f"{path}[{index}].utilization", shape[index].utilization
            errors.append(invalid(where, value, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            where = f"{path}[{index}].utilization"
            errors.append(invalid(where, point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= 10:
            where = f"{path}[{index}].score"
            errors.append(invalid(where, point.score, "not in valid range [0, 10]"))
    return errors


def pod_topology_spread(args: PodTopologySpreadArgs, path: str) -> Errors:
    """ValidatePodTopologySpreadArgs."""
    constraints = args.default_constraints or ()
    type_path = child(path, "defaultingType")
    errors: Errors = []
    if args.defaulting_type not in ("System", "List"):
        errors.append(unsupported(type_path, args.defaulting_type, ("System", "List")))
    elif args.defaulting_type == "System" and constraints:
        detail = "when .defaultConstraints are not empty"
        errors.append(invalid(type_path, args.defaulting_type, detail))
    for index, constraint in enumerate(constraints):
        where = f"{child(path, 'defaultConstraints')}[{index}]"
        errors += _constraint(constraint, where)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in [(item.topology_key, item.when_unsatisfiable) for item in constraints[:index]]:
            errors.append(duplicate(where, f"{{{key[0]}, {key[1]}}}"))
    return distinct(errors)


def _constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        yield from label_name_errors(constraint.topology_key, f"{path}.topologyKey")
    else:
        yield required(f"{path}.topologyKey", "can not be empty")
    if not constraint.when_unsatisfiable:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        where = f"{path}.whenUnsatisfiable"
        yield unsupported(where, constraint.when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", detail)


def volume_binding(args: VolumeBindingArgs, path: str) -> Errors:
    """ValidateVolumeBindingArgs, with StorageCapacityScoring off as it is by default."""
    errors = []
    timeout = args.bind_timeout_seconds
    if timeout is not None and timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), timeout, detail))
    if args.shape is not None:
        shape = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        detail = (
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        )
        errors.append(invalid(child(path, "shape"), shape, detail))
    return errors


def dynamic_resources(args: DynamicResourcesArgs, path: str) -> Errors:
    """ValidateDynamicResourcesArgs, with DRASchedulerFilterTimeout on as it is by default."""
    if args.filter_timeout is None or args.filter_timeout >= 0:
        return []
    timeout = duration_text(args.filter_timeout)
    return [invalid(child(path, "filterTimeout"), timeout, "must be zero or positive")]


def node_affinity(args: NodeAffinityArgs, path: str) -> Errors:
    """ValidateNodeAffinityArgs."""
    errors: Errors = []
    affinity = args.added_affinity
    if affinity is None:
        return errors
    base = child(path, "addedAffinity")
    if affinity.required is not None:
        terms = f"{base}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(affinity.required.node_selector_terms or ()):
            errors += _term(term, f"{terms}[{index}]")
    for index, preferred in enumerate(affinity.preferred or ()):
        if preferred.weight != 0:
            where = f"{base}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            errors += _term(preferred.preference, where)
    return errors


def _term(term: NodeSelectorTerm, path: str) -> Errors:
    """newNodeSelectorTerm."""
    errors: Errors = []
    for index, expression in enumerate(term.match_expressions or ()):
        errors += _expression(expression, f"{path}.matchExpressions[{index}]")
    for index, expression in enumerate(term.match_fields or ()):
        where = f"{path}.matchFields[{index}]"
        if expression.operator not in _FIELD_OPERATORS:
            errors.append(unsupported(f"{where}.operator", expression.operator, _FIELD_OPERATORS))
        elif len(expression.values or ()) != 1:
            values = _nil_or_list(expression.values)
            errors.append(invalid(f"{where}.values", values, "must have one element"))
    return errors


def _nil_or_list(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _expression(expression: NodeSelectorRequirement, path: str) -> Errors:
    """nodeSelectorRequirementsAsSelector and labels.NewRequirement."""
    if expression.operator not in _SELECTOR_OPERATORS:
        return [unsupported(f"{path}.operator", expression.operator, _SELECTOR_OPERATORS)]
    errors: Errors = []
    faults = qualified_name_problems(expression.key)
    if faults:
        errors.append(invalid(f"{path}.key", expression.key, "; ".join(faults)))
    errors += _values(expression, f"{path}.values")
    for index, value in enumerate(expression.values or ()):
        faults = label_value_problems(value)
        if faults:
            errors.append(
                invalid(f"{path}.values[{index}][{expression.key}]", value, "; ".join(faults))
            )
    return distinct(errors)


def _values(expression: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    values, shown = expression.values or (), _nil_or_list(expression.values)
    match expression.operator:
        case "In" | "NotIn" if not values:
            yield invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty")
        case "Exists" | "DoesNotExist" if values:
            yield invalid(path, shown, "values set must be empty for exists and does not exist")
        case "Gt" | "Lt":
            one = "for 'Gt', 'Lt' operators, exactly one value is required"
            if len(values) != 1:
                yield invalid(path, shown, one)
            for index, value in enumerate(values):
                if not _INT64.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
                    integer = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield invalid(f"{path}[{index}]", value, integer)


CHECKS: Mapping[str, Callable[[Any, str], Errors]] = {
    "DefaultPreemption": default_preemption,
    "DynamicResources": dynamic_resources,
    "InterPodAffinity": inter_pod_affinity,
    "NodeAffinity": node_affinity,
    "NodeResourcesBalancedAllocation": balanced_allocation,
    "NodeResourcesFit": resources_fit,
    "PodTopologySpread": pod_topology_spread,
    "VolumeBinding": volume_binding,
}

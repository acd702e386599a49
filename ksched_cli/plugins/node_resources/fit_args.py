"""The args of NodeResourcesFit.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

# ruff: noqa: RUF009  # go_types.field is dataclasses.field, with the JSON side as its metadata

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from ksched_cli.config.go_types import STRING, ListOf, StructOf, field, named
from ksched_cli.config.in_tree_args import InTreeArgs, StartupCrash
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    distinct,
    forbidden,
    invalid,
    label_name_errors,
    required,
    unsupported,
)
from ksched_cli.kube.versions import Release
from ksched_cli.plugins.helper.function_shape import UtilizationShapePoint, shape_errors
from ksched_cli.plugins.node_resources.resource_spec import (
    CPU_AND_MEMORY,
    ResourceSpec,
    with_default_weights,
)

STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


@dataclass(frozen=True, slots=True)
class RequestedToCapacityRatioParam:
    GO: ClassVar[str] = "v1.RequestedToCapacityRatioParam"
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        "shape", ListOf(StructOf(UtilizationShapePoint))
    )


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    GO: ClassVar[str] = "v1.ScoringStrategy"
    type: str = field("type", named("v1.ScoringStrategyType"), enum=[*STRATEGIES, None])
    resources: tuple[ResourceSpec, ...] | None = field("resources", ListOf(StructOf(ResourceSpec)))
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = field(
        "requestedToCapacityRatio", StructOf(RequestedToCapacityRatioParam), pointer=True
    )


@dataclass(frozen=True, slots=True)
class NodeResourcesFitArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeResourcesFitArgs"
    ignored_resources: tuple[str, ...] | None = field("ignoredResources", ListOf(STRING))
    ignored_resource_groups: tuple[str, ...] | None = field("ignoredResourceGroups", ListOf(STRING))
    scoring_strategy: ScoringStrategy | None = field(
        "scoringStrategy", StructOf(ScoringStrategy), pointer=True
    )


def _validate(release: Release, args: NodeResourcesFitArgs, path: str) -> list[FieldError]:
    """ValidateNodeResourcesFitArgs."""
    errors: list[FieldError] = []
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
    errors += _ratio_errors(release, strategy, strategy_path)
    return distinct(errors)


def _ratio_errors(release: Release, strategy: ScoringStrategy, path: str) -> list[FieldError]:
    ratio = strategy.requested_to_capacity_ratio
    if not release.rules.checks_strategy_type:
        return [] if ratio is None else shape_errors(ratio.shape or (), f"{path}.shape")
    path = f"{path}.requestedToCapacityRatio"
    if strategy.type == STRATEGIES[2]:
        if ratio is not None:
            return shape_errors(ratio.shape or (), f"{path}.shape")
        return [required(path, "must be specified when type is RequestedToCapacityRatio")]
    if ratio is None:
        return []
    return [forbidden(path, "must be nil when type is not RequestedToCapacityRatio")]


def set_defaults(args: NodeResourcesFitArgs) -> NodeResourcesFitArgs:
    """SetDefaults_NodeResourcesFitArgs."""
    strategy = args.scoring_strategy
    if strategy is None:
        return replace(args, scoring_strategy=ScoringStrategy("LeastAllocated", CPU_AND_MEMORY))
    resources = with_default_weights(strategy.resources)
    return replace(args, scoring_strategy=replace(strategy, resources=resources))


def startup_crash(args: NodeResourcesFitArgs) -> StartupCrash | None:
    """NewFit follows scoringStrategy.requestedToCapacityRatio without looking."""
    strategy = args.scoring_strategy
    if strategy is None or strategy.type != "RequestedToCapacityRatio":
        return None
    if strategy.requested_to_capacity_ratio is not None:
        return None
    return StartupCrash(
        "no-shape",
        "scoringStrategy",
        "RequestedToCapacityRatio has no shape; kube-scheduler crashes at start",
        "add scoringStrategy.requestedToCapacityRatio.shape",
    )


def args_of(release: Release) -> InTreeArgs[NodeResourcesFitArgs]:
    """The args as a release has them."""
    validate = partial(_validate, release)
    return InTreeArgs(NodeResourcesFitArgs, set_defaults, validate, startup_crash)

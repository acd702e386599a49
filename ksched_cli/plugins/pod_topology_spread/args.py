"""The args of PodTopologySpread.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go,
k8s.io/api/core/v1 for the constraints.
"""

# ruff: noqa: RUF009  # go_types.field is dataclasses.field, with the JSON side as its metadata

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import INT32, STRING, ListOf, StringMap, StructOf, field, named
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    distinct,
    duplicate,
    forbidden,
    invalid,
    label_name_errors,
    required,
    unsupported,
)

ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
DEFAULTING_TYPES = ("System", "List")


@dataclass(frozen=True, slots=True)
class LabelSelectorRequirement:
    GO: ClassVar[str] = "v1.LabelSelectorRequirement"
    key: str = field("key", STRING, omit=False)
    operator: str = field("operator", named("v1.LabelSelectorOperator"), omit=False)
    values: tuple[str, ...] | None = field("values", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class LabelSelector:
    GO: ClassVar[str] = "v1.LabelSelector"
    match_labels: Mapping[str, str] | None = field("matchLabels", StringMap())
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = field(
        "matchExpressions", ListOf(StructOf(LabelSelectorRequirement))
    )


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    GO: ClassVar[str] = "v1.TopologySpreadConstraint"
    max_skew: int = field("maxSkew", INT32, omit=False, minimum=1)
    topology_key: str = field("topologyKey", STRING, omit=False)
    when_unsatisfiable: str = field(
        "whenUnsatisfiable",
        named("v1.UnsatisfiableConstraintAction"),
        omit=False,
        enum=[*ACTIONS, None],
    )
    label_selector: LabelSelector | None = field(
        "labelSelector", StructOf(LabelSelector), pointer=True
    )
    min_domains: int | None = field("minDomains", INT32, pointer=True)
    node_affinity_policy: str | None = field(
        "nodeAffinityPolicy", named("v1.NodeInclusionPolicy"), pointer=True
    )
    node_taints_policy: str | None = field(
        "nodeTaintsPolicy", named("v1.NodeInclusionPolicy"), pointer=True
    )
    match_label_keys: tuple[str, ...] | None = field("matchLabelKeys", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class PodTopologySpreadArgs(TypeMeta):
    GO: ClassVar[str] = "v1.PodTopologySpreadArgs"
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = field(
        "defaultConstraints", ListOf(StructOf(TopologySpreadConstraint))
    )
    defaulting_type: str = field(
        "defaultingType",
        named("v1.PodTopologySpreadConstraintsDefaulting"),
        enum=[*DEFAULTING_TYPES, None],
    )


def validate(args: PodTopologySpreadArgs, path: str) -> list[FieldError]:
    """ValidatePodTopologySpreadArgs."""
    constraints = args.default_constraints or ()
    type_path = child(path, "defaultingType")
    errors: list[FieldError] = []
    if args.defaulting_type not in DEFAULTING_TYPES:
        errors.append(unsupported(type_path, args.defaulting_type, DEFAULTING_TYPES))
    elif args.defaulting_type == "System" and constraints:
        detail = "when .defaultConstraints are not empty"
        errors.append(invalid(type_path, args.defaulting_type, detail))
    earlier: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        where = f"{child(path, 'defaultConstraints')}[{index}]"
        errors += _validate_constraint(constraint, where)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in earlier:
            errors.append(duplicate(where, f"{{{key[0]}, {key[1]}}}"))
        earlier.add(key)
    return distinct(errors)


def _validate_constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[FieldError]:
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        yield from label_name_errors(constraint.topology_key, f"{path}.topologyKey")
    else:
        yield required(f"{path}.topologyKey", "can not be empty")
    if not constraint.when_unsatisfiable:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in ACTIONS:
        where = f"{path}.whenUnsatisfiable"
        yield unsupported(where, constraint.when_unsatisfiable, ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", detail)


def set_defaults(args: PodTopologySpreadArgs) -> PodTopologySpreadArgs:
    """SetDefaults_PodTopologySpreadArgs."""
    return replace(args, defaulting_type=args.defaulting_type or "System")


ARGS = InTreeArgs(PodTopologySpreadArgs, set_defaults, validate)

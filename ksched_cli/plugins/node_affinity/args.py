"""The args of NodeAffinity.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go,
k8s.io/api/core/v1 for the affinity, component-helpers/scheduling/corev1/nodeaffinity,
apimachinery labels.NewRequirement.
"""

# ruff: noqa: RUF009  # go_types.field is dataclasses.field, with the JSON side as its metadata

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ksched_cli.config.go_types import INT32, STRING, ListOf, StructOf, field, named
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    distinct,
    invalid,
    label_value_problems,
    qualified_name_problems,
    unsupported,
)
from ksched_cli.kube.selectors import parse_int64

SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


@dataclass(frozen=True, slots=True)
class NodeSelectorRequirement:
    GO: ClassVar[str] = "v1.NodeSelectorRequirement"
    key: str = field("key", STRING, omit=False)
    operator: str = field(
        "operator", named("v1.NodeSelectorOperator"), omit=False, enum=[*SELECTOR_OPERATORS, None]
    )
    values: tuple[str, ...] | None = field("values", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    GO: ClassVar[str] = "v1.NodeSelectorTerm"
    match_expressions: tuple[NodeSelectorRequirement, ...] | None = field(
        "matchExpressions", ListOf(StructOf(NodeSelectorRequirement))
    )
    match_fields: tuple[NodeSelectorRequirement, ...] | None = field(
        "matchFields", ListOf(StructOf(NodeSelectorRequirement))
    )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    GO: ClassVar[str] = "v1.NodeSelector"
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = field(
        "nodeSelectorTerms", ListOf(StructOf(NodeSelectorTerm)), omit=False
    )


@dataclass(frozen=True, slots=True)
class PreferredSchedulingTerm:
    GO: ClassVar[str] = "v1.PreferredSchedulingTerm"
    weight: int = field("weight", INT32, omit=False)
    preference: NodeSelectorTerm = field("preference", StructOf(NodeSelectorTerm), omit=False)


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    GO: ClassVar[str] = "v1.NodeAffinity"
    required: NodeSelector | None = field(
        "requiredDuringSchedulingIgnoredDuringExecution", StructOf(NodeSelector), pointer=True
    )
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        ListOf(StructOf(PreferredSchedulingTerm)),
    )


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeAffinityArgs"
    added_affinity: NodeAffinity | None = field(
        "addedAffinity", StructOf(NodeAffinity), pointer=True
    )


def validate(args: NodeAffinityArgs, path: str) -> list[FieldError]:
    """ValidateNodeAffinityArgs."""
    errors: list[FieldError] = []
    affinity = args.added_affinity
    if affinity is None:
        return errors
    base = child(path, "addedAffinity")
    if affinity.required is not None:
        terms = f"{base}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(affinity.required.node_selector_terms or ()):
            errors += _validate_term(term, f"{terms}[{index}]")
    for index, preferred in enumerate(affinity.preferred or ()):
        if preferred.weight != 0:
            where = f"{base}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            errors += _validate_term(preferred.preference, where)
    return errors


def _validate_term(term: NodeSelectorTerm, path: str) -> list[FieldError]:
    """newNodeSelectorTerm."""
    errors: list[FieldError] = []
    for index, expression in enumerate(term.match_expressions or ()):
        errors += _validate_expression(expression, f"{path}.matchExpressions[{index}]")
    for index, expression in enumerate(term.match_fields or ()):
        where = f"{path}.matchFields[{index}]"
        if expression.operator not in _FIELD_OPERATORS:
            errors.append(unsupported(f"{where}.operator", expression.operator, _FIELD_OPERATORS))
        elif len(expression.values or ()) != 1:
            values = _nil_or_list(expression.values)
            errors.append(invalid(f"{where}.values", values, "must have one element"))
    return errors


def _validate_expression(expression: NodeSelectorRequirement, path: str) -> list[FieldError]:
    """nodeSelectorRequirementsAsSelector and labels.NewRequirement."""
    if expression.operator not in SELECTOR_OPERATORS:
        return [unsupported(f"{path}.operator", expression.operator, SELECTOR_OPERATORS)]
    errors: list[FieldError] = []
    problems = qualified_name_problems(expression.key)
    if problems:
        errors.append(invalid(f"{path}.key", expression.key, "; ".join(problems)))
    errors += _validate_values(expression, f"{path}.values")
    for index, value in enumerate(expression.values or ()):
        problems = label_value_problems(value)
        if problems:
            errors.append(
                invalid(f"{path}.values[{index}][{expression.key}]", value, "; ".join(problems))
            )
    return distinct(errors)


def _validate_values(expression: NodeSelectorRequirement, path: str) -> Iterator[FieldError]:
    values, shown = expression.values or (), _nil_or_list(expression.values)
    match expression.operator:
        case "In" | "NotIn" if not values:
            yield invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty")
        case "Exists" | "DoesNotExist" if values:
            yield invalid(path, shown, "values set must be empty for exists and does not exist")
        case "Gt" | "Lt":
            message = "for 'Gt', 'Lt' operators, exactly one value is required"
            if len(values) != 1:
                yield invalid(path, shown, message)
            for index, value in enumerate(values):
                if parse_int64(value) is None:
                    integer = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield invalid(f"{path}[{index}]", value, integer)


def _nil_or_list(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


ARGS = InTreeArgs(NodeAffinityArgs, validate=validate)

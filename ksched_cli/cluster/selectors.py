"""Selectors of labels and nodes, parsed once; tolerations of taints.

Everything parsed is frozen and hashable, so that answers can be kept by selector.

Upstream: apimachinery/pkg/labels/selector.go, apis/meta/v1/helpers.go (LabelSelectorAsSelector),
component-helpers/scheduling/corev1 (helpers.go, nodeaffinity/nodeaffinity.go),
api/core/v1/toleration.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ksched_cli.cluster.objects import (
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    invalid,
    label_value_problems,
    qualified_name_problems,
    unsupported,
)
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
NODE_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
FIELD_OPERATORS = (IN, NOT_IN)
LABEL_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)

NODE_NAME_FIELD = "metadata.name"

_INTEGER = re.compile(r"[+-]?[0-9]+")


class SelectorError(ValueError):
    """A selector that cannot be parsed. The text is upstream's."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one key. operator: one of NODE_OPERATORS."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.matches_value(labels.get(self.key))

    def matches_value(self, value: str | None) -> bool:
        """value: what the labels have under the key, None if they lack it."""
        if self.operator == IN:
            return value is not None and value in self.values
        if self.operator == NOT_IN:
            return value is None or value not in self.values
        if self.operator == EXISTS:
            return value is not None
        if self.operator == DOES_NOT_EXIST:
            return value is None
        have, bound = parse_int64(value), parse_int64(self.values[0])
        if have is None or bound is None:
            return False
        return have > bound if self.operator == GT else have < bound


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements at once, in order of key. None at all matches everything.

    selectable: false for the selector that matches nothing
    """

    requirements: tuple[Requirement, ...] = ()
    selectable: bool = True

    def matches(self, labels: Mapping[str, str]) -> bool:
        if not self.selectable:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(selectable=False)


def parse_int64(text: str | None) -> int | None:
    """As Go's strconv.ParseInt; None where that fails."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if MIN_INT64 <= number <= MAX_INT64 else None


def selector_of_map(labels: Mapping[str, str]) -> Selector:
    """Exactly these labels; nothing is checked. Upstream: labels.SelectorFromSet."""
    return _selector(Requirement(key, IN, (value,)) for key, value in labels.items())


def label_selector(selector: LabelSelector | None) -> Selector:
    """None matches nothing, an empty one everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    requirements = []
    for key, value in selector.match_labels.items():
        requirements.append(_checked(key, IN, (value,), ""))
    for expression in selector.match_expressions:
        if expression.operator not in LABEL_OPERATORS:
            operator = quote(expression.operator)
            raise SelectorError(f"{operator} is not a valid label selector operator")
        requirements.append(_checked(expression.key, expression.operator, expression.values, ""))
    return _selector(requirements)


def _selector(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _checked(key: str, operator: str, values: tuple[str, ...], path: str) -> Requirement:
    errors = _requirement_errors(key, operator, values, path)
    if errors:
        raise SelectorError(_aggregate(error.text() for error in errors))
    return Requirement(key, operator, values)


def _requirement_errors(
    key: str, operator: str, values: tuple[str, ...], path: str
) -> list[FieldError]:
    """Upstream: labels.NewRequirement."""
    errors = []
    problems = qualified_name_problems(key)
    if problems:
        errors.append(invalid(child(path, "key"), key, "; ".join(problems)))
    values_path = child(path, "values")
    listed = list(values) or None
    if operator in (IN, NOT_IN):
        if not values:
            detail = "for 'in', 'notin' operators, values set can't be empty"
            errors.append(invalid(values_path, listed, detail))
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            detail = "values set must be empty for exists and does not exist"
            errors.append(invalid(values_path, listed, detail))
    else:
        errors += _bound_errors(values, values_path)
    for i, value in enumerate(values):
        problems = label_value_problems(value)
        if problems:
            errors.append(invalid(f"{values_path}[{i}][{key}]", value, "; ".join(problems)))
    return errors


def _bound_errors(values: tuple[str, ...], path: str) -> list[FieldError]:
    errors = []
    if len(values) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        errors.append(invalid(path, list(values) or None, detail))
    for i, value in enumerate(values):
        if parse_int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"{path}[{i}]", value, detail))
    return errors


def _aggregate(messages: Iterable[str]) -> str:
    """Several errors as Go's Aggregate prints them."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node selector.

    labels, fields: requirements on the node's labels, and on its name (In or NotIn, one value)
    errors:         why it cannot be parsed; such a term matches no node
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if self.errors:
            return False
        return all(r.matches(labels) for r in self.labels) and self.matches_name(name)

    def matches_name(self, name: str) -> bool:
        return all(
            ((name if r.key == NODE_NAME_FIELD else "") == r.values[0]) == (r.operator == IN)
            for r in self.fields
        )


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """Terms of which one must match; none at all match no node.

    Upstream: nodeaffinity.LazyErrorNodeSelector.
    """

    terms: tuple[NodeTerm, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Raises SelectorError where no term matches and some cannot be parsed."""
        if any(term.matches(name, labels) for term in self.terms):
            return True
        if self.error:
            raise SelectorError(self.error)
        return False

    @property
    def error(self) -> str:
        """What is wrong with the terms that cannot be parsed, or ""."""
        errors = [error for term in self.terms for error in term.errors]
        return _aggregate(errors) if errors else ""


def node_terms(selector: NodeSelector, path: str = "") -> NodeTerms:
    """Parses a node selector. Empty terms match nothing and are left out.

    path: where the selector stands, for the text of errors
    """
    base = child(path, "nodeSelectorTerms")
    return NodeTerms(
        tuple(
            _node_term(term, f"{base}[{i}]")
            for i, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _node_term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    errors: list[str] = []
    base = child(path, "matchExpressions")
    labels = [
        _node_requirement(expression, f"{base}[{i}]", errors)
        for i, expression in enumerate(term.match_expressions)
    ]
    base = child(path, "matchFields")
    for i, expression in enumerate(term.match_fields):
        errors += _field_errors(expression, f"{base}[{i}]")
    if errors:
        return NodeTerm(errors=tuple(errors))
    ordered = sorted(labels, key=lambda requirement: requirement.key)
    fields = [Requirement(e.key, e.operator, e.values) for e in term.match_fields]
    return NodeTerm(tuple(ordered), tuple(fields))


def _node_requirement(
    expression: NodeSelectorRequirement, path: str, errors: list[str]
) -> Requirement:
    """Adds to `errors` what is wrong with it."""
    key, operator, values = expression.key, expression.operator, expression.values
    if operator not in NODE_OPERATORS:
        errors.append(unsupported(child(path, "operator"), operator, NODE_OPERATORS).text())
    else:
        errors += [error.text() for error in _requirement_errors(key, operator, values, path)]
    return Requirement(key, operator, values)


def _field_errors(expression: NodeSelectorRequirement, path: str) -> list[str]:
    if expression.operator not in FIELD_OPERATORS:
        at = child(path, "operator")
        return [unsupported(at, expression.operator, FIELD_OPERATORS).text()]
    if len(expression.values) != 1:
        listed = list(expression.values) or None
        return [invalid(child(path, "values"), listed, "must have one element").text()]
    return []


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """What a pod demands of a node: its nodeSelector, and its required node affinity if any."""

    labels: Selector
    affinity: NodeTerms | None

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Raises SelectorError as NodeTerms.matches does."""
        if not self.labels.matches(labels):
            return False
        return self.affinity is None or self.affinity.matches(name, labels)


def required_node_affinity(spec: PodSpec) -> RequiredNodeAffinity:
    """Upstream: nodeaffinity.GetRequiredNodeAffinity."""
    affinity = spec.affinity and spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return RequiredNodeAffinity(
        selector_of_map(spec.node_selector), node_terms(required) if required else None
    )


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    weight: int
    term: NodeTerm


def preferred_terms(
    terms: Sequence[PreferredSchedulingTerm], path: str = ""
) -> tuple[PreferredTerm, ...]:
    """Those that can add to a score. Raises SelectorError with all that is wrong.

    Upstream: nodeaffinity.NewPreferredSchedulingTerms.
    """
    preferred_terms = [
        PreferredTerm(preferred.weight, _node_term(preferred.preference, f"{path}[{i}]"))
        for i, preferred in enumerate(terms)
        if preferred.weight and not _is_empty(preferred.preference)
    ]
    errors = [error for preferred in preferred_terms for error in preferred.term.errors]
    if errors:
        raise SelectorError(_aggregate(errors))
    return tuple(preferred_terms)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Upstream: Toleration.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of them tolerates it. Upstream: TolerationsTolerateTaint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)

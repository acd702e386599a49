"""Label selectors, parsed once, and the requirements that node selectors have in common with them.

Everything parsed is frozen and hashable, so that answers can be cached by selector.

Upstream: apimachinery/pkg/labels/selector.go, apis/meta/v1/helpers.go (LabelSelectorAsSelector).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Protocol, cast

from msgspec import Struct

from ksched_cli.kube.field_errors import (
    FieldError,
    NameProblem,
    child,
    invalid,
    label_value_problems,
    qualified_name_problems,
    unsupported,
)
from ksched_cli.kube.formatting import aggregate, quote
from ksched_cli.kube.int64 import parse_int64

IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
NODE_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
LABEL_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
FIELD_OPERATORS = (IN, NOT_IN)


class SelectorError(ValueError):
    """A selector that cannot be parsed. The text is upstream's."""


class Expression(Protocol):
    """One of a selector's matchExpressions or matchFields. values: None for Go's nil."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> tuple[str, ...] | None: ...


class LabelSelectorFields(Protocol):
    """What is read of a LabelSelector."""

    @property
    def match_labels(self) -> Mapping[str, str]: ...
    @property
    def match_expressions(self) -> Sequence[Expression]: ...


class NodeTermFields(Protocol):
    """What is read of a NodeSelectorTerm, a pod's or that of a plugin's args."""

    @property
    def match_expressions(self) -> Sequence[Expression] | None: ...
    @property
    def match_fields(self) -> Sequence[Expression] | None: ...


class Requirement(Struct, frozen=True):
    """One condition on one key. operator: one of NODE_OPERATORS."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.matches_value(labels.get(self.key))

    def matches_value(self, value: str | None) -> bool:
        """Return whether a label's value meets the requirement.

        value: what the labels have under the key, None if they lack it
        """
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


def requirement_text(requirement: Requirement) -> str:
    """Return the requirement as kubectl writes it in a selector."""
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In" if len(values) == 1:
            return f"{key}={values[0]}"
        case "Gt" | "Lt" as operator:
            return f"{key}{'>' if operator == 'Gt' else '<'}{values[0] if values else ''}"
        case operator:
            return f"{key} {operator.lower()} ({','.join(values)})"


class Selector(Struct, frozen=True):
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


def selector_of_map(labels: Mapping[str, str]) -> Selector:
    """Return a selector of exactly these labels, unchecked. Upstream: labels.SelectorFromSet."""
    return _selector(Requirement(key, IN, (value,)) for key, value in labels.items())


def label_selector(selector: LabelSelectorFields | Mapping[str, Any] | None) -> Selector:
    """Return what matches labels as the selector says, which may be plain data of a manifest. None
    matches nothing, an empty one everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    if isinstance(selector, Mapping):
        expressions = [
            SimpleNamespace(
                key=each.get("key", ""),
                operator=each.get("operator", ""),
                values=tuple(each.get("values") or ()),
            )
            for each in selector.get("matchExpressions") or ()
        ]
        labels = selector.get("matchLabels") or {}
        selector = cast(
            LabelSelectorFields, SimpleNamespace(match_labels=labels, match_expressions=expressions)
        )
    requirements = []
    for key, value in selector.match_labels.items():
        requirements.append(_checked(key, IN, (value,)))
    for expression in selector.match_expressions:
        if expression.operator not in LABEL_OPERATORS:
            operator = quote(expression.operator)
            raise SelectorError(f"{operator} is not a valid label selector operator")
        values = expression.values or ()
        requirements.append(_checked(expression.key, expression.operator, values))
    return _selector(requirements)


def _selector(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


@lru_cache(maxsize=4096)
def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    errors = requirement_errors(key, operator, values or None, "")
    if errors:
        raise SelectorError(aggregate(error.text() for error in errors))
    return Requirement(key, operator, values)


def requirement_errors(
    key: str, operator: str, values: tuple[str, ...] | None, path: str
) -> list[FieldError]:
    """Return what is wrong with a requirement. Upstream: labels.NewRequirement.

    values: None for Go's nil
    """
    errors = []
    faults = qualified_name_problems(key)
    if faults:
        errors.append(_misnamed(child(path, "key"), key, faults))
    values_path = child(path, "values")
    if operator in (IN, NOT_IN):
        if not values:
            detail = "for 'in', 'notin' operators, values set can't be empty"
            errors.append(invalid(values_path, values, detail, "no-values"))
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            detail = "values set must be empty for exists and does not exist"
            errors.append(invalid(values_path, values, detail, "needless-values"))
    else:
        errors += _bound_errors(values, values_path)
    for i, value in enumerate(values or ()):
        faults = label_value_problems(value)
        if faults:
            errors.append(_misnamed(f"{values_path}[{i}][{key}]", value, faults))
    return errors


def _misnamed(path: str, name: str, problems: Sequence[NameProblem]) -> FieldError:
    rule = next((problem.rule for problem in problems if problem.rule), "")
    return invalid(path, name, "; ".join(problem.text for problem in problems), rule)


def _bound_errors(values: tuple[str, ...] | None, path: str) -> list[FieldError]:
    errors = []
    if len(values or ()) != 1:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        errors.append(invalid(path, values, detail, "one-value"))
    for i, value in enumerate(values or ()):
        if parse_int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"{path}[{i}]", value, detail, "whole-number"))
    return errors


def term_errors(
    term: NodeTermFields, path: str, *, keeps_empty: bool = False
) -> Iterator[FieldError]:
    """Yield what is wrong with a term. Upstream: newNodeSelectorTerm.

    keeps_empty: no values are shown as written, as [] or null; those of API objects always as null
    """
    for i, expression in enumerate(term.match_expressions or ()):
        where = f"{child(path, 'matchExpressions')}[{i}]"
        key, operator, values = expression.key, expression.operator, expression.values
        if operator not in NODE_OPERATORS:
            yield unsupported(f"{where}.operator", operator, NODE_OPERATORS)
        else:
            yield from requirement_errors(
                key, operator, values if keeps_empty else values or None, where
            )
    for i, expression in enumerate(term.match_fields or ()):
        where = f"{child(path, 'matchFields')}[{i}]"
        operator, values = expression.operator, expression.values
        if operator not in FIELD_OPERATORS:
            yield unsupported(f"{where}.operator", operator, FIELD_OPERATORS)
        elif len(values or ()) != 1:
            shown = values if keeps_empty else values or None
            yield invalid(f"{where}.values", shown, "must have one element", "one-element")

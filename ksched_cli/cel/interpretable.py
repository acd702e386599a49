"""Interpretables: planned nodes of a CEL expression; the state of one evaluation; and the operators
that do not evaluate all their arguments first (logic, conditionals, fields, membership).

Upstream: cel-go/interpreter (interpretable.go, attributes.go, runtimecost.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ksched_cli.cel.cost import LIMIT, call_cost
from ksched_cli.cel.values import (
    NONE,
    CelAbortError,
    CelError,
    DomainMap,
    Optional,
    Semver,
    contains,
    equal,
    no_overload,
    type_name,
)
from ksched_cli.kube.quantity import Quantity

Value: TypeAlias = Any
PRIMITIVES = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class DeviceInput:
    """The variable `device` of an expression. attributes and capacity: by domain and name."""

    driver: str = ""
    attributes: DomainMap = field(default_factory=DomainMap)
    capacity: DomainMap = field(default_factory=DomainMap)
    allow_multiple_allocations: bool = False

    def fields(self) -> Mapping[str, Value]:
        return {
            "driver": self.driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
            "allowMultipleAllocations": self.allow_multiple_allocations,
        }


class Run:
    """The state of one evaluation. scope: the variables of the comprehensions being evaluated."""

    __slots__ = ("cost", "device", "scope")

    def __init__(self, device: DeviceInput) -> None:
        self.device = device
        self.cost = 0
        self.scope: dict[str, Value] = {}

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > LIMIT:
            raise CelAbortError("operation cancelled: actual cost limit exceeded")


Evaluate: TypeAlias = Callable[[Run], Value]


@dataclass(frozen=True, slots=True)
class Interpretable:
    """A planned node.

    base:     the cost of evaluating an attribute without its fields; None: not an attribute
    constant: its value does not depend on the device
    """

    run: Evaluate
    base: int | None = None
    constant: bool = False

    def value(self, run: Run) -> Value:
        if self.base:
            run.spend(self.base)
        return self.run(run)


def constant(value: Value) -> Interpretable:
    return Interpretable(lambda run: value, constant=True)


def values_of(run: Run, arguments: Sequence[Interpretable]) -> list[Value]:
    """The values of a strict call's arguments. Raises the first CelError among them."""
    values: list[Value] = []
    try:
        for argument in arguments:
            values.append(argument.value(run))  # noqa: PERF401  # those before an error count
    except CelError:
        if not values and len(arguments) == 2:
            # Upstream evaluates both arguments of a binary call before it returns an error.
            with suppress(CelError):
                arguments[1].value(run)
        run.spend(1)
        raise
    return values


# -- fields and elements -------------------------------------------------------------------------


def base_cost(operand: Interpretable) -> int:
    """A chain of fields costs its base once; any other operand starts a new chain."""
    return 1 if operand.base is None else operand.base


def qualify(run: Run, value: Value, key: Value) -> Value:
    """value.key or value[key]. Raises CelError."""
    if isinstance(value, Optional):
        return _qualified_optional(run, value, key)
    run.spend(1)
    element, is_present = _find(value, key)
    if not is_present:
        kind = "index out of bounds" if isinstance(value, list) else "no such key"
        raise CelError(f"{kind}: {key}")
    return element


def has_field(run: Run, value: Value, key: str) -> bool:
    """has(value.key)."""
    run.spend(1)
    if isinstance(value, Optional):
        return value.present and _find(value.value, key)[1]
    return _find(value, key)[1]


def _qualified_optional(run: Run, value: Optional, key: Value) -> Optional:
    """A field of an optional's value, as an optional."""
    if not value.present:
        return NONE
    element, is_present = _find(value.value, key)
    if not is_present:
        return NONE
    run.spend(1)
    return Optional(True, element)


def _find(value: Value, key: Value) -> tuple[Value, bool]:
    """Upstream: refQualify."""
    if isinstance(value, dict):
        if not isinstance(key, PRIMITIVES):
            raise CelError(f"unsupported key type: {type_name(key)}")
        if key in value:
            return value[key], True
        return ({}, True) if isinstance(value, DomainMap) else (None, False)
    if isinstance(value, list):
        if isinstance(key, bool | str) or not isinstance(key, int | float) or key != int(key):
            raise CelError(f"unsupported index type '{type_name(key)}' in list")
        return (value[int(key)], True) if 0 <= key < len(value) else (None, False)
    return None, False


def _index(arguments: Sequence[Interpretable]) -> Interpretable:
    operand, key = arguments
    return Interpretable(
        lambda run: qualify(run, operand.run(run), key.run(run)), base=base_cost(operand)
    )


def _optional_index(arguments: Sequence[Interpretable]) -> Interpretable:
    operand, key = arguments

    def evaluate(run: Run) -> Value:
        value = operand.run(run)
        optional = value if isinstance(value, Optional) else Optional(True, value)
        return _qualified_optional(run, optional, key.run(run))

    return Interpretable(evaluate, base=base_cost(operand))


# -- operators -----------------------------------------------------------------------------------


def _equals(arguments: Sequence[Interpretable]) -> Interpretable:
    cost = call_cost("_==_", ("equals",))

    def evaluate(run: Run) -> bool:
        left, right = values_of(run, arguments)
        run.spend(cost((left, right), None))
        return equal(left, right)

    return Interpretable(evaluate)


def _not_equals(arguments: Sequence[Interpretable]) -> Interpretable:
    cost = call_cost("_!=_", ("not_equals",))

    def evaluate(run: Run) -> bool:
        left, right = values_of(run, arguments)
        run.spend(cost((left, right), None))
        try:
            return not equal(left, right)
        except CelError:
            # Upstream negates "`==` gives true", and an error is not true.
            return True

    return Interpretable(evaluate)


_IN_LIST = ("in_list",)


def membership(arguments: Sequence[Interpretable], overloads: tuple[str, ...]) -> Interpretable:
    """x in y. Upstream turns a constant list into a set, whose lookup costs nothing, unless the
    list's type is unknown."""
    operand, container = arguments
    if container.constant and overloads == _IN_LIST:
        values = container.run(Run(DeviceInput()))
        if values == []:
            return constant(False)
        if all(isinstance(value, PRIMITIVES) for value in values):
            return Interpretable(lambda run: _in_set(operand.value(run), values))
    cost = call_cost("@in", overloads)

    def evaluate(run: Run) -> bool:
        value, elements = values_of(run, arguments)
        run.spend(cost((value, elements), None))
        if isinstance(elements, dict):
            return isinstance(value, PRIMITIVES) and value in elements
        if isinstance(elements, list):
            return contains(elements, value)
        raise no_overload("@in", value, elements)

    return Interpretable(evaluate)


def _in_set(value: Value, values: list[Value]) -> bool:
    if isinstance(value, Semver):
        raise CelAbortError("internal error: runtime error: hash of unhashable type cel.Semver")
    return not isinstance(value, Quantity) and contains(values, value)


def _and(arguments: Sequence[Interpretable]) -> Interpretable:
    return _logical(arguments, False, "_&&_")


def _or(arguments: Sequence[Interpretable]) -> Interpretable:
    return _logical(arguments, True, "_||_")


def _logical(arguments: Sequence[Interpretable], decisive: bool, name: str) -> Interpretable:
    """The decisive value of either side is the result, even if the other side is an error."""

    def evaluate(run: Run) -> bool:
        failure: CelError | None = None
        for argument in arguments:
            try:
                value = argument.value(run)
            except CelError as error:
                failure = failure or error
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                failure = failure or no_overload(name, value)
        if failure is not None:
            raise failure
        return not decisive

    return Interpretable(evaluate)


def _conditional(arguments: Sequence[Interpretable]) -> Interpretable:
    condition, truthy, falsy = arguments

    def evaluate(run: Run) -> Value:
        decided = condition.value(run)
        if type(decided) is not bool:
            raise no_overload("_?_:_", decided)
        return truthy.run(run) if decided else falsy.run(run)

    return Interpretable(evaluate, base=0)


def _not_strictly_false(arguments: Sequence[Interpretable]) -> Interpretable:
    def evaluate(run: Run) -> bool:
        run.spend(1)
        try:
            return arguments[0].value(run) is not False
        except CelError:
            return True

    return Interpretable(evaluate)


def _or_value(arguments: Sequence[Interpretable]) -> Interpretable:
    return _alternative(arguments, "orValue", lambda optional: optional.value)


def _or_optional(arguments: Sequence[Interpretable]) -> Interpretable:
    return _alternative(arguments, "or", lambda optional: optional)


def _alternative(
    arguments: Sequence[Interpretable], name: str, result_of: Callable[[Optional], Value]
) -> Interpretable:
    """The second argument is evaluated only where the first optional is empty."""
    first, second = arguments

    def evaluate(run: Run) -> Value:
        value = first.value(run)
        if not isinstance(value, Optional):
            raise no_overload(name, value)
        return result_of(value) if value.present else second.value(run)

    return Interpretable(evaluate)


OPERATORS: dict[str, Callable[[Sequence[Interpretable]], Interpretable]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _conditional,
    "_==_": _equals,
    "_!=_": _not_equals,
    "_[_]": _index,
    "_[?_]": _optional_index,
    "_?._": _optional_index,
    "@not_strictly_false": _not_strictly_false,
    "or": _or_optional,
    "orValue": _or_value,
}

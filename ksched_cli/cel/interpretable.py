"""The parts that CEL expressions are run from: an evaluation, a node ready to run, and the
operators that are no ordinary functions.

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
    """What an expression sees of a device. attributes and capacity: by domain and name."""

    driver: str = ""
    attributes: DomainMap = field(default_factory=DomainMap)
    capacity: DomainMap = field(default_factory=DomainMap)

    def fields(self) -> Mapping[str, Value]:
        return {
            "driver": self.driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
        }


class Run:
    """One evaluation. scope: the variables of the comprehensions under way."""

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
    """A node ready to run.

    base:     what evaluating an attribute costs besides its fields; None: not an attribute
    constant: its value depends on nothing
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
    """The arguments of a call that must all have values. Raises CelError."""
    values: list[Value] = []
    try:
        for argument in arguments:
            values.append(argument.value(run))  # noqa: PERF401  # those before an error count
    except CelError:
        if not values and len(arguments) == 2:
            # Upstream looks at both before it gives up on one.
            with suppress(CelError):
                arguments[1].value(run)
        run.spend(1)
        raise
    return values


# -- fields and elements -------------------------------------------------------------------------


def base_of(operand: Interpretable) -> int:
    """A chain of fields costs its base once; what is no attribute starts a new chain."""
    return 1 if operand.base is None else operand.base


def qualified(run: Run, value: Value, key: Value) -> Value:
    """value.key or value[key]. Raises CelError."""
    if isinstance(value, Optional):
        return _within(run, value, key)
    run.spend(1)
    found, is_present = _find(value, key)
    if not is_present:
        kind = "index out of bounds" if isinstance(value, list) else "no such key"
        raise CelError(f"{kind}: {key}")
    return found


def present(run: Run, value: Value, key: str) -> bool:
    """has(value.key)."""
    run.spend(1)
    if isinstance(value, Optional):
        return value.present and _find(value.value, key)[1]
    return _find(value, key)[1]


def _within(run: Run, value: Optional, key: Value) -> Optional:
    """A field of what an optional holds, as an optional."""
    if not value.present:
        return NONE
    found, is_present = _find(value.value, key)
    if not is_present:
        return NONE
    run.spend(1)
    return Optional(True, found)


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
        lambda run: qualified(run, operand.run(run), key.run(run)), base=base_of(operand)
    )


def _optional_index(arguments: Sequence[Interpretable]) -> Interpretable:
    operand, key = arguments

    def evaluate(run: Run) -> Value:
        value = operand.run(run)
        optional = value if isinstance(value, Optional) else Optional(True, value)
        return _within(run, optional, key.run(run))

    return Interpretable(evaluate, base=base_of(operand))


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
            # Upstream asks whether `==` gives true; an error does not.
            return True

    return Interpretable(evaluate)


_IN_LIST = ("in_list",)


def membership(arguments: Sequence[Interpretable], overloads: tuple[str, ...]) -> Interpretable:
    """x in y. A constant list is a set upstream, and asking it costs nothing; unless its type is
    unknown."""
    wanted, where = arguments
    if where.constant and overloads == _IN_LIST:
        values = where.run(Run(DeviceInput()))
        if values == []:
            return constant(False)
        if all(isinstance(one, PRIMITIVES) for one in values):
            return Interpretable(lambda run: _in_set(wanted.value(run), values))
    cost = call_cost("@in", overloads)

    def evaluate(run: Run) -> bool:
        one, within = values_of(run, arguments)
        run.spend(cost((one, within), None))
        if isinstance(within, dict):
            return isinstance(one, PRIMITIVES) and one in within
        if isinstance(within, list):
            return contains(within, one)
        raise no_overload("@in", one, within)

    return Interpretable(evaluate)


def _in_set(wanted: Value, values: list[Value]) -> bool:
    if isinstance(wanted, Semver):
        raise CelAbortError("internal error: runtime error: hash of unhashable type cel.Semver")
    return not isinstance(wanted, Quantity) and contains(values, wanted)


def _and(arguments: Sequence[Interpretable]) -> Interpretable:
    return _logical(arguments, False, "_&&_")


def _or(arguments: Sequence[Interpretable]) -> Interpretable:
    return _logical(arguments, True, "_||_")


def _logical(arguments: Sequence[Interpretable], decisive: bool, name: str) -> Interpretable:
    """The decisive value wins over errors on either side."""

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
    arguments: Sequence[Interpretable], name: str, of: Callable[[Optional], Value]
) -> Interpretable:
    """The second is looked at only where the first has no value."""
    first, second = arguments

    def evaluate(run: Run) -> Value:
        value = first.value(run)
        if not isinstance(value, Optional):
            raise no_overload(name, value)
        return of(value) if value.present else second.value(run)

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

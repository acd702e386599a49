"""Runs checked CEL expressions over devices, as cel-go does, down to what they cost.

A tree is turned into closures once. Errors are exceptions, which `&&`, `||` and comprehensions may
make up for.

Upstream: cel-go/interpreter (planner.go, interpretable.go, decorators.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ksched_cli.cel.cost import LIST_COST, MAP_COST, call_cost
from ksched_cli.cel.environment import CelCompileError, library_call
from ksched_cli.cel.functions.standard import FUNCTIONS
from ksched_cli.cel.interpretable import (
    OPERATORS,
    PRIMITIVES,
    DeviceInput,
    Evaluate,
    Interpretable,
    Run,
    Value,
    base_of,
    constant,
    membership,
    present,
    qualified,
    values_of,
)
from ksched_cli.cel.syntax import (
    Call,
    CheckedExpression,
    Comprehension,
    Constant,
    Expr,
    Identifier,
    ListLiteral,
    MapLiteral,
    MessageLiteral,
    Select,
)
from ksched_cli.cel.values import CelError, Optional, TypeName, type_name

# Upstream computes these with the plan where their argument is a constant, so that one that cannot
# be converted is an error of compilation.
_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)


class Program:
    """An expression ready to be asked about devices."""

    def __init__(self, checked: CheckedExpression) -> None:
        """Raises CelCompileError."""
        self._root = _plan(checked.root)

    def evaluate(self, device: DeviceInput) -> tuple[bool, int]:
        """Whether the device matches, and the cost of asking. Raises CelError, CelAbortError."""
        run = Run(device)
        found = self._root.value(run)
        if type(found) is not bool:
            raise CelError(f"CEL result of type {type_name(found)} could not be converted to bool")
        return found, run.cost


def _plan(node: Expr) -> Interpretable:
    match node:
        case Constant():
            return constant(node.value)
        case Identifier():
            return _identifier(node)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListLiteral():
            return _list(node)
        case MapLiteral():
            return _map(node)
        case MessageLiteral():
            return Interpretable(partial(_fail, f"{node.name}: messages are not supported"))
        case Comprehension():
            return Interpretable(_Fold(node).evaluate)


def _fail(message: str, run: Run) -> Value:
    raise CelError(message)


def _identifier(node: Identifier) -> Interpretable:
    if node.is_type:
        return constant(TypeName(node.name))
    name = node.name
    field = name.partition(".")[2]

    def evaluate(run: Run) -> Value:
        if name in run.scope:
            return _variable(run, name)
        if not field:
            return dict(run.device.fields())
        run.spend(1)
        return getattr(run.device, field)

    return Interpretable(evaluate, base=1)


def _select(node: Select) -> Interpretable:
    operand, field = _plan(node.operand), node.field
    if node.test_only:
        return Interpretable(lambda run: present(run, operand.run(run), field))
    return Interpretable(lambda run: qualified(run, operand.run(run), field), base=base_of(operand))


# -- calls ---------------------------------------------------------------------------------------


def _call(node: Call) -> Interpretable:
    arguments = [_plan(argument) for argument in node.arguments]
    operator = OPERATORS.get(node.function)
    if operator is not None:
        return operator(arguments)
    if node.function == "@in":
        return membership(arguments, node.overloads)
    step = Interpretable(_strict(node, arguments))
    if node.function in _CONVERSIONS and len(arguments) == 1 and arguments[0].constant:
        return _folded(step)
    return step


def _folded(step: Interpretable) -> Interpretable:
    """Runs what depends on nothing. Raises CelCompileError."""
    try:
        return constant(step.value(Run(DeviceInput())))
    except CelError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None


def _strict(node: Call, arguments: Sequence[Interpretable]) -> Evaluate:
    """A call whose arguments must all have values."""
    function, is_member = node.function, node.is_member
    only = node.overloads[0] if len(node.overloads) == 1 else ""
    native = FUNCTIONS.get(only) or FUNCTIONS.get(function)
    cost = call_cost(function, node.overloads)

    def evaluate(run: Run) -> Value:
        values = values_of(run, arguments)
        try:
            found = native(*values) if native else library_call(function, values, is_member)
        except CelError:
            run.spend(cost(values, None))
            raise
        run.spend(cost(values, found))
        return found

    return evaluate


# -- literals ------------------------------------------------------------------------------------


def _list(node: ListLiteral) -> Interpretable:
    elements = [_plan(element) for element in node.elements]

    def evaluate(run: Run) -> list[Value]:
        values: list[Value] = []
        for i, element in enumerate(elements):
            value = element.value(run)
            if i in node.optional:
                if not _holds(value):
                    continue
                value = value.value
            values.append(value)
        run.spend(LIST_COST)
        return values

    step = Interpretable(evaluate)
    return _folded(step) if all(element.constant for element in elements) else step


def _map(node: MapLiteral) -> Interpretable:
    entries = [(_plan(one.key), _plan(one.value), one.optional) for one in node.entries]

    def evaluate(run: Run) -> dict[Value, Value]:
        values: dict[Value, Value] = {}
        for key_step, value_step, optional in entries:
            key, value = key_step.value(run), value_step.value(run)
            if not isinstance(key, PRIMITIVES):
                raise CelError(f"unsupported key type: {type_name(key)}")
            if optional:
                if not _holds(value):
                    values.pop(key, None)
                    continue
                value = value.value
            values[key] = value
        run.spend(MAP_COST)
        return values

    step = Interpretable(evaluate)
    all_constant = all(key.constant and value.constant for key, value, _ in entries)
    return _folded(step) if all_constant else step


def _holds(value: Value) -> bool:
    if not isinstance(value, Optional):
        raise CelError("cannot initialize an optional entry from a value that is not optional")
    return value.present


# -- comprehensions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Later:
    """An accumulator that nobody has looked at yet: `cel.bind` computes only what is used."""

    start: Interpretable
    outside: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Failed:
    """An error in the place of an accumulator; it counts when somebody looks at it."""

    error: CelError


def _variable(run: Run, name: str) -> Value:
    found = run.scope[name]
    if isinstance(found, _Later):
        inside, run.scope = run.scope, found.outside
        try:
            found = _caught(found.start, run)
        finally:
            run.scope = inside
        run.scope[name] = found
    if isinstance(found, _Failed):
        raise found.error
    return found


def _caught(step: Interpretable, run: Run) -> Value:
    try:
        return step.value(run)
    except CelError as error:
        return _Failed(error)


class _Fold:
    """What macros such as `exists`, `map` and `cel.bind` have become."""

    def __init__(self, node: Comprehension) -> None:
        self._node = node
        self._over = _plan(node.over)
        self._start = _plan(node.start)
        self._condition = _plan(node.condition)
        self._step = _plan(node.step)
        self._result = _plan(node.result)

    def evaluate(self, run: Run) -> Value:
        node, outside = self._node, run.scope
        over = self._over.value(run)
        scope = {**outside, node.accumulator: _Later(self._start, outside)}
        run.scope = scope
        try:
            for first, second in _pairs(over, bool(node.second_variable)):
                scope[node.variable] = first
                if node.second_variable:
                    scope[node.second_variable] = second
                # What is not a boolean does not end the loop.
                if _caught(self._condition, run) is False:
                    break
                scope[node.accumulator] = _caught(self._step, run)
            return self._result.value(run)
        finally:
            run.scope = outside


def _pairs(over: Value, two: bool) -> Iterator[tuple[Value, Value]]:
    if isinstance(over, dict):
        # A copy: the map may be what the loop builds.
        yield from list(over.items())
    elif isinstance(over, list):
        yield from enumerate(over) if two else ((one, None) for one in over)
    else:
        raise CelError(f"got '{type_name(over)}', expected iterable type")

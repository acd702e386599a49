"""Plans and evaluates checked CEL expressions over devices, with cel-go's results and costs.

A tree is turned into closures once. Errors are exceptions, which `&&`, `||` and comprehensions may
absorb.

Upstream: cel-go/interpreter (planner.go, interpretable.go, decorators.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ksched_cli.cel.cost import LIST_COST, MAP_COST, PAID_BEFORE, call_cost
from ksched_cli.cel.environment import CelCompileError, library_call
from ksched_cli.cel.functions.kubernetes import KUBERNETES
from ksched_cli.cel.functions.lists import LISTS
from ksched_cli.cel.functions.network import NETWORK
from ksched_cli.cel.functions.regex import PATTERN_INDEX, REGEX, RegexError, compiled
from ksched_cli.cel.functions.standard import STANDARD
from ksched_cli.cel.interpretable import (
    OPERATORS,
    PRIMITIVES,
    DeviceInput,
    Evaluate,
    Interpretable,
    Run,
    Value,
    base_cost,
    constant,
    has_field,
    membership,
    qualify,
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

# By name; by overload id where the overload decides.
_FUNCTIONS = {**STANDARD, **KUBERNETES, **LISTS, **NETWORK, **REGEX}
# Upstream evaluates these while planning if their argument is a constant, so that a constant that
# cannot be converted is a compile error.
_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)


class Program:
    """An expression that can be evaluated for devices. Upstream: cel.Program."""

    def __init__(self, checked: CheckedExpression) -> None:
        """Raises CelCompileError."""
        self._root = _plan(checked.root)

    def evaluate(self, device: DeviceInput) -> tuple[bool, int]:
        """Whether the device matches, and the actual cost. Raises CelError, CelAbortError."""
        run = Run(device)
        matches = self._root.value(run)
        if type(matches) is not bool:
            raise CelError(
                f"CEL result of type {type_name(matches)} could not be converted to bool"
            )
        return matches, run.cost


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
            return Interpretable(partial(_raise_error, f"{node.name}: messages are not supported"))
        case Comprehension():
            return Interpretable(_Fold(node).evaluate)


def _raise_error(message: str, run: Run) -> Value:
    raise CelError(message)


_FIELD_ATTRIBUTES = {"allowMultipleAllocations": "allow_multiple_allocations"}


def _identifier(node: Identifier) -> Interpretable:
    if node.is_type:
        return constant(TypeName(node.name))
    name = node.name
    field = name.partition(".")[2]
    attribute = _FIELD_ATTRIBUTES.get(field, field)

    def evaluate(run: Run) -> Value:
        if name in run.scope:
            return _variable(run, name)
        if not field:
            return dict(run.device.fields())
        run.spend(1)
        return getattr(run.device, attribute)

    return Interpretable(evaluate, base=1)


def _select(node: Select) -> Interpretable:
    operand, field = _plan(node.operand), node.field
    if node.test_only:
        return Interpretable(lambda run: has_field(run, operand.run(run), field))
    return Interpretable(lambda run: qualify(run, operand.run(run), field), base=base_cost(operand))


# -- calls ---------------------------------------------------------------------------------------


def _call(node: Call) -> Interpretable:
    arguments = [_plan(argument) for argument in node.arguments]
    operator = OPERATORS.get(node.function)
    if operator is not None:
        return operator(arguments)
    if node.function == "@in":
        return membership(arguments, node.overloads)
    if node.function in REGEX:
        _check_pattern(arguments[PATTERN_INDEX])
    step = Interpretable(_strict(node, arguments))
    if node.function in _CONVERSIONS and len(arguments) == 1 and arguments[0].constant:
        return _folded(step)
    return step


def _check_pattern(pattern: Interpretable) -> None:
    """Upstream compiles a constant pattern while planning. Raises CelCompileError."""
    if not pattern.constant:
        return
    value = pattern.value(Run(DeviceInput()))
    if not isinstance(value, str):
        return
    try:
        compiled(value)
    except RegexError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None


def _folded(step: Interpretable) -> Interpretable:
    """Evaluates a constant expression while planning. Raises CelCompileError."""
    try:
        return constant(step.value(Run(DeviceInput())))
    except CelError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None


def _strict(node: Call, arguments: Sequence[Interpretable]) -> Evaluate:
    """A call that evaluates all its arguments first, and is an error if one of them is."""
    function, is_member = node.function, node.is_member
    only = node.overloads[0] if len(node.overloads) == 1 else ""
    native = _FUNCTIONS.get(only) or _FUNCTIONS.get(function)
    cost = call_cost(function, node.overloads)

    def evaluate(run: Run) -> Value:
        values = values_of(run, arguments)
        if function in PAID_BEFORE and native:
            run.spend(cost(values, None))
            return native(*values)
        try:
            result = native(*values) if native else library_call(function, values, is_member)
        except CelError:
            run.spend(cost(values, None))
            raise
        run.spend(cost(values, result))
        return result

    return evaluate


# -- literals ------------------------------------------------------------------------------------


def _list(node: ListLiteral) -> Interpretable:
    elements = [_plan(element) for element in node.elements]

    def evaluate(run: Run) -> list[Value]:
        values: list[Value] = []
        for i, element in enumerate(elements):
            value = element.value(run)
            if i in node.optional:
                if not _has_value(value):
                    continue
                value = value.value
            values.append(value)
        run.spend(LIST_COST)
        return values

    step = Interpretable(evaluate)
    return _folded(step) if all(element.constant for element in elements) else step


def _map(node: MapLiteral) -> Interpretable:
    entries = [(_plan(entry.key), _plan(entry.value), entry.optional) for entry in node.entries]

    def evaluate(run: Run) -> dict[Value, Value]:
        values: dict[Value, Value] = {}
        for key_step, value_step, optional in entries:
            key, value = key_step.value(run), value_step.value(run)
            if not isinstance(key, PRIMITIVES):
                raise CelError(f"unsupported key type: {type_name(key)}")
            if optional:
                if not _has_value(value):
                    values.pop(key, None)
                    continue
                value = value.value
            values[key] = value
        run.spend(MAP_COST)
        return values

    step = Interpretable(evaluate)
    all_constant = all(key.constant and value.constant for key, value, _ in entries)
    return _folded(step) if all_constant else step


def _has_value(value: Value) -> bool:
    if not isinstance(value, Optional):
        raise CelError("cannot initialize an optional entry from a value that is not optional")
    return value.present


# -- comprehensions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LazyAccumulator:
    """An accumulator not evaluated yet: `cel.bind` evaluates its variable on first use."""

    start: Interpretable
    outside: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _ErrorValue:
    """An accumulator whose evaluation failed; the error is raised where it is read."""

    error: CelError


def _variable(run: Run, name: str) -> Value:
    value = run.scope[name]
    if isinstance(value, _LazyAccumulator):
        inner_scope, run.scope = run.scope, value.outside
        try:
            value = _value_or_error(value.start, run)
        finally:
            run.scope = inner_scope
        run.scope[name] = value
    if isinstance(value, _ErrorValue):
        raise value.error
    return value


def _value_or_error(step: Interpretable, run: Run) -> Value:
    try:
        return step.value(run)
    except CelError as error:
        return _ErrorValue(error)


class _Fold:
    """A comprehension: the expansion of macros such as `exists`, `map` and `cel.bind`.

    Upstream: evalFold.
    """

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
        scope = {**outside, node.accumulator: _LazyAccumulator(self._start, outside)}
        run.scope = scope
        try:
            for first, second in _pairs(over, bool(node.second_variable)):
                scope[node.variable] = first
                if node.second_variable:
                    scope[node.second_variable] = second
                # Only false ends the loop; other types do not.
                if _value_or_error(self._condition, run) is False:
                    break
                scope[node.accumulator] = _value_or_error(self._step, run)
            return self._result.value(run)
        finally:
            run.scope = outside


def _pairs(iterable: Value, indexed: bool) -> Iterator[tuple[Value, Value]]:
    if isinstance(iterable, dict):
        # A copy: the loop may change the map it iterates over.
        yield from list(iterable.items())
    elif isinstance(iterable, list):
        yield from enumerate(iterable) if indexed else ((element, None) for element in iterable)
    else:
        raise CelError(f"got '{type_name(iterable)}', expected iterable type")

"""Plans and evaluates checked CEL expressions over devices, with cel-go's results and costs.

A tree is turned into closures once. Errors are exceptions, which `&&`, `||` and comprehensions may
absorb.

Upstream: cel-go/interpreter (planner.go, interpretable.go, decorators.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct, field

from ksched_cli.cel.cost import LIMIT, LIST_COST, MAP_COST, PAID_BEFORE, Cost, call_cost
from ksched_cli.cel.environment import CelCompileError, deep_recursion
from ksched_cli.cel.functions import (
    KUBERNETES,
    LISTS,
    NETWORK,
    STANDARD,
)
from ksched_cli.cel.regex import PATTERN_INDEX, REGEX, RegexError, compiled
from ksched_cli.cel.syntax import (
    CallExpression,
    CheckedExpression,
    Comprehension,
    Constant,
    Expr,
    Identifier,
    ListLiteral,
    MapLiteral,
    Select,
)
from ksched_cli.cel.values import (
    NONE,
    UNREADABLE,
    AttributeMap,
    CelAbortError,
    CelError,
    DomainMap,
    Optional,
    Semver,
    TypeName,
    contains,
    equal,
    no_overload,
    type_name,
)
from ksched_cli.kube.quantity import Quantity

# -- interpretables --------------------------------------------------------------------------------
#
# Interpretables: planned nodes of a CEL expression; the state of one evaluation; and the operators
# that do not evaluate all their arguments first (logic, conditionals, fields, membership).
#
# Upstream: cel-go/interpreter (interpretable.go, attributes.go, runtimecost.go).


Value: TypeAlias = Any
PRIMITIVES = (bool, int, float, str)


# The fields of `device`, with what they are here.
_FIELDS = {
    **{name: name for name in ("driver", "attributes", "capacity")},
    "allowMultipleAllocations": "allow_multiple_allocations",
}


class DeviceInput(Struct, frozen=True):
    """The variable `device` of an expression. attributes and capacity: by domain and name."""

    driver: str = ""
    attributes: DomainMap = field(default_factory=DomainMap)
    capacity: DomainMap = field(default_factory=DomainMap)
    allow_multiple_allocations: bool = False

    def fields(self) -> dict[str, Value]:
        return {name: getattr(self, field) for name, field in _FIELDS.items()}


class EvalState:
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


Evaluate: TypeAlias = Callable[[EvalState], Value]


class Interpretable(Struct, frozen=True):
    """A planned node.

    base:     the cost of evaluating an attribute without its fields; None: not an attribute
    constant: its value does not depend on the device
    """

    run: Evaluate
    base: int | None = None
    constant: bool = False

    def value(self, run: EvalState) -> Value:
        if self.base:
            run.spend(self.base)
        return self.run(run)


def constant(value: Value) -> Interpretable:
    return Interpretable(lambda run: value, constant=True)


def values_of(run: EvalState, arguments: Sequence[Interpretable]) -> list[Value]:
    """Return the values of a strict call's arguments. Raises the first CelError among them."""
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


def qualify(run: EvalState, value: Value, key: Value) -> Value:
    """value.key or value[key]. Raises CelError."""
    if isinstance(value, Optional):
        return _qualified_optional(run, value, key)
    run.spend(1)
    element, is_present = _find(value, key)
    if not is_present:
        kind = "index out of bounds" if isinstance(value, list) else "no such key"
        raise CelError(f"{kind}: {key}")
    return element


def has_field(run: EvalState, value: Value, key: str) -> bool:
    """has(value.key)."""
    run.spend(1)
    if isinstance(value, Optional):
        return value.present and _find(value.value, key)[1]
    return _find(value, key)[1]


def _qualified_optional(run: EvalState, value: Optional, key: Value) -> Optional:
    """Return a field of an optional's value, as an optional."""
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
        if isinstance(value, AttributeMap) and value.get(str(key)) is UNREADABLE:
            why = "value is invalid or its type is not supported by this version"
            raise CelError(f"attribute {key}: {why}")
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

    def evaluate(run: EvalState) -> Value:
        value = operand.run(run)
        optional = value if isinstance(value, Optional) else Optional(True, value)
        return _qualified_optional(run, optional, key.run(run))

    return Interpretable(evaluate, base=base_cost(operand))


# -- operators -----------------------------------------------------------------------------------


def _equality(
    arguments: Sequence[Interpretable], cost: Cost, result_of: Callable[[Value, Value], bool]
) -> Interpretable:
    def evaluate(run: EvalState) -> bool:
        left, right = values_of(run, arguments)
        run.spend(cost((left, right), None))
        return result_of(left, right)

    return Interpretable(evaluate)


def _is_unequal(left: Value, right: Value) -> bool:
    try:
        return not equal(left, right)
    except CelError:
        # Upstream negates "`==` gives true", and an error is not true.
        return True


_IN_LIST = ("in_list",)


def membership(arguments: Sequence[Interpretable], overloads: tuple[str, ...]) -> Interpretable:
    """x in y. Upstream turns a constant list into a set, whose lookup costs nothing, unless the
    list's type is unknown."""
    operand, container = arguments
    if container.constant and overloads == _IN_LIST:
        values = container.run(EvalState(DeviceInput()))
        if values == []:
            return constant(False)
        if all(isinstance(value, PRIMITIVES) for value in values):
            return Interpretable(lambda run: _in_set(operand.value(run), values))
    cost = call_cost("@in", overloads)

    def evaluate(run: EvalState) -> bool:
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


def _logical(arguments: Sequence[Interpretable], decisive: bool, name: str) -> Interpretable:
    """The decisive value of either side is the result, even if the other side is an error."""

    def evaluate(run: EvalState) -> bool:
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

    def evaluate(run: EvalState) -> Value:
        decided = condition.value(run)
        if type(decided) is not bool:
            raise no_overload("_?_:_", decided)
        return truthy.run(run) if decided else falsy.run(run)

    return Interpretable(evaluate, base=0)


def _not_strictly_false(arguments: Sequence[Interpretable]) -> Interpretable:
    def evaluate(run: EvalState) -> bool:
        run.spend(1)
        try:
            return arguments[0].value(run) is not False
        except CelError:
            return True

    return Interpretable(evaluate)


def _alternative(
    arguments: Sequence[Interpretable], name: str, result_of: Callable[[Optional], Value]
) -> Interpretable:
    """The second argument is evaluated only where the first optional is empty."""
    first, second = arguments

    def evaluate(run: EvalState) -> Value:
        value = first.value(run)
        if not isinstance(value, Optional):
            raise no_overload(name, value)
        return result_of(value) if value.present else second.value(run)

    return Interpretable(evaluate)


OPERATORS: dict[str, Callable[[Sequence[Interpretable]], Interpretable]] = {
    "_&&_": partial(_logical, decisive=False, name="_&&_"),
    "_||_": partial(_logical, decisive=True, name="_||_"),
    "_?_:_": _conditional,
    "_==_": partial(_equality, cost=call_cost("_==_", ("equals",)), result_of=equal),
    "_!=_": partial(_equality, cost=call_cost("_!=_", ("not_equals",)), result_of=_is_unequal),
    "_[_]": _index,
    "_[?_]": _optional_index,
    "_?._": _optional_index,
    "@not_strictly_false": _not_strictly_false,
    "or": partial(_alternative, name="or", result_of=lambda optional: optional),
    "orValue": partial(_alternative, name="orValue", result_of=lambda optional: optional.value),
}


# -- programs -------------------------------------------------------------------------------------


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
        """Plan the evaluation of a checked expression. Raises CelCompileError."""
        with deep_recursion():
            self._root = _plan(checked.root)

    def evaluate(self, device: DeviceInput) -> tuple[bool, int]:
        """Return whether the device matches, and the actual cost. Raises CelError,
        CelAbortError."""
        run = EvalState(device)
        with deep_recursion():
            matches = self._root.value(run)
        if type(matches) is not bool:
            raise CelError(
                f"CEL result of type {type_name(matches)} could not be converted to bool"
            )
        return matches, run.cost

    def value(self, device: DeviceInput) -> Value:
        """What the expression gives for a device. Raises CelError, CelAbortError."""
        with deep_recursion():
            return self._root.value(EvalState(device))


def _plan(node: Expr) -> Interpretable:
    match node:
        case Constant():
            return constant(node.value)
        case Identifier():
            return _identifier(node)
        case Select():
            return _select(node)
        case CallExpression():
            return _call(node)
        case ListLiteral():
            return _list(node)
        case MapLiteral():
            return _map(node)
        case Comprehension():
            return Interpretable(_Fold(node).evaluate)


def _identifier(node: Identifier) -> Interpretable:
    if node.is_type:
        return constant(TypeName(node.name))
    name = node.name

    def evaluate(run: EvalState) -> Value:
        return _variable(run, name) if name in run.scope else run.device.fields()

    return Interpretable(evaluate, base=1)


def _select(node: Select) -> Interpretable:
    operand, field = _plan(node.operand), node.field
    if node.test_only:
        return Interpretable(lambda run: has_field(run, operand.run(run), field))
    return Interpretable(lambda run: qualify(run, operand.run(run), field), base=base_cost(operand))


# -- calls ---------------------------------------------------------------------------------------


def _call(node: CallExpression) -> Interpretable:
    """Plan a call. Raises CelCompileError."""
    arguments = [_plan(argument) for argument in node.arguments]
    operator = OPERATORS.get(node.function)
    if operator is not None:
        return operator(arguments)
    if node.function == "@in":
        return membership(arguments, node.overloads)
    if node.function in REGEX and arguments[PATTERN_INDEX].constant:
        # Upstream compiles a constant pattern while planning.
        pattern = arguments[PATTERN_INDEX].value(EvalState(DeviceInput()))
        try:
            if isinstance(pattern, str):
                compiled(pattern)
        except RegexError as error:
            raise CelCompileError(f"program instantiation failed: {error}") from None
    step = Interpretable(_strict(node, arguments))
    if node.function in _CONVERSIONS and len(arguments) == 1 and arguments[0].constant:
        return _folded(step)
    return step


def _folded(step: Interpretable) -> Interpretable:
    """Evaluate a constant expression while planning. Raises CelCompileError."""
    try:
        return constant(step.value(EvalState(DeviceInput())))
    except CelError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None


def _strict(node: CallExpression, arguments: Sequence[Interpretable]) -> Evaluate:
    """Return a call that evaluates all its arguments first, and is an error if one of them is."""
    function = node.function
    only = node.overloads[0] if len(node.overloads) == 1 else ""
    native = _FUNCTIONS.get(only) or _FUNCTIONS[function]
    cost = call_cost(function, node.overloads)

    def evaluate(run: EvalState) -> Value:
        values = values_of(run, arguments)
        if function in PAID_BEFORE:
            run.spend(cost(values, None))
            return native(*values)
        try:
            result = native(*values)
        except CelError:
            run.spend(cost(values, None))
            raise
        run.spend(cost(values, result))
        return result

    return evaluate


# -- literals ------------------------------------------------------------------------------------


def _list(node: ListLiteral) -> Interpretable:
    elements = [_plan(element) for element in node.elements]

    def evaluate(run: EvalState) -> list[Value]:
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

    def evaluate(run: EvalState) -> dict[Value, Value]:
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


class _LazyAccumulator(Struct, frozen=True):
    """An accumulator not evaluated yet: `cel.bind` evaluates its variable on first use."""

    start: Interpretable
    outside: dict[str, Any]


class _ErrorValue(Struct, frozen=True):
    """An accumulator whose evaluation failed; the error is raised where it is read."""

    error: CelError


def _variable(run: EvalState, name: str) -> Value:
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


def _value_or_error(step: Interpretable, run: EvalState) -> Value:
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

    def evaluate(self, run: EvalState) -> Value:
        node, outside = self._node, run.scope
        over = self._over.value(run)
        scope = {**outside, node.accumulator: _LazyAccumulator(self._start, outside)}
        run.scope = scope
        try:
            pairs: Iterable[tuple[Value, Value]]
            if isinstance(over, dict):
                # A copy: the loop may change the map it iterates over.
                pairs = list(over.items())
            elif isinstance(over, list) and node.second_variable:
                pairs = enumerate(over)
            elif isinstance(over, list):
                pairs = ((element, None) for element in over)
            else:
                raise CelError(f"got '{type_name(over)}', expected iterable type")
            for first, second in pairs:
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

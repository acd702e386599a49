"""The CEL environment of device selectors: variables, functions and their types; parses and checks.

The library (cel-expr-python, Google's CEL for C++) parses and checks expressions, and runs its own
functions. It has no values of foreign types, no map with a default and no cost limit, so checked
trees are evaluated by cel/interpreter.py.

Upstream: dynamic-resource-allocation/cel/compile.go, apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from itertools import permutations
from typing import Any

from ksched_cli.cel.syntax import CheckedExpression, read
from ksched_cli.cel.values import CelError, Uint, no_overload

DRIVER, ATTRIBUTES, CAPACITY = "device.driver", "device.attributes", "device.capacity"
ALLOW_MULTIPLE_ALLOCATIONS = "device.allowMultipleAllocations"
DEVICE = "device"

_EXTENSIONS = """
name: kubernetes
extensions:
- {name: bindings, version: 0}
- {name: lists, version: latest}
- {name: optional, version: latest}
- {name: sets, version: 0}
- {name: strings, version: 2}
- {name: two-var-comprehensions, version: 0}
"""
_BASIC = {"B": "BOOL", "D": "DOUBLE", "I": "INT", "S": "STRING", "U": "UINT"}
_OPAQUE = {
    "Q": "kubernetes.Quantity",
    "V": "kubernetes.Semver",
    "A": "net.IP",
    "N": "net.CIDR",
}
# Function, overload id, result, parameters, whether it is a member of the first. Q: a quantity,
# V: a version, A: an address, N: a network, L: a list of strings, the others as in _BASIC.
_KUBERNETES = (
    ("quantity", "string_to_quantity", "Q", "S", False),
    ("isQuantity", "is_quantity_string", "B", "S", False),
    ("sign", "quantity_sign", "I", "Q", False),
    ("isGreaterThan", "quantity_is_greater_than", "B", "QQ", True),
    ("isGreaterThan", "semver_is_greater_than", "B", "VV", True),
    ("isLessThan", "quantity_is_less_than", "B", "QQ", True),
    ("isLessThan", "semver_is_less_than", "B", "VV", True),
    ("compareTo", "quantity_compare_to", "I", "QQ", True),
    ("compareTo", "semver_compare_to", "I", "VV", True),
    ("asApproximateFloat", "quantity_get_float", "D", "Q", True),
    ("asInteger", "quantity_get_int", "I", "Q", True),
    ("isInteger", "quantity_is_integer", "B", "Q", True),
    ("add", "quantity_add", "Q", "QQ", True),
    ("add", "quantity_add_int", "Q", "QI", True),
    ("sub", "quantity_sub", "Q", "QQ", True),
    ("sub", "quantity_sub_int", "Q", "QI", True),
    ("semver", "string_to_semver", "V", "S", False),
    ("semver", "string_bool_to_semver", "V", "SB", False),
    ("isSemver", "is_semver_string", "B", "S", False),
    ("isSemver", "is_semver_string_bool", "B", "SB", False),
    ("major", "semver_major", "I", "V", True),
    ("minor", "semver_minor", "I", "V", True),
    ("patch", "semver_patch", "I", "V", True),
    ("find", "string_find_string", "S", "SS", True),
    ("findAll", "string_find_all_string", "L", "SS", True),
    ("findAll", "string_find_all_string_int", "L", "SSI", True),
    ("ip", "string_to_ip", "A", "S", False),
    ("ip", "cidr_ip", "A", "N", True),
    ("isIP", "is_ip", "B", "S", False),
    ("ip.isCanonical", "ip_is_canonical", "B", "S", False),
    ("family", "ip_family", "I", "A", True),
    ("isUnspecified", "ip_is_unspecified", "B", "A", True),
    ("isLoopback", "ip_is_loopback", "B", "A", True),
    ("isLinkLocalMulticast", "ip_is_link_local_multicast", "B", "A", True),
    ("isLinkLocalUnicast", "ip_is_link_local_unicast", "B", "A", True),
    ("isGlobalUnicast", "ip_is_global_unicast", "B", "A", True),
    ("cidr", "string_to_cidr", "N", "S", False),
    ("isCIDR", "is_cidr", "B", "S", False),
    ("containsIP", "cidr_contains_ip_string", "B", "NS", True),
    ("containsIP", "cidr_contains_ip_ip", "B", "NA", True),
    ("containsCIDR", "cidr_contains_cidr_string", "B", "NS", True),
    ("containsCIDR", "cidr_contains_cidr", "B", "NN", True),
    ("prefixLength", "cidr_prefix_length", "I", "N", True),
    ("masked", "cidr_masked", "N", "N", True),
)
_ORDERED = ("INT", "UINT", "DOUBLE", "DURATION", "BOOL", "TIMESTAMP", "STRING", "BYTES")
_SUMMABLE = ("int", "uint", "double", "duration")
_COMPARISONS = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}
_NUMBER_IDS = {"I": "int64", "U": "uint64", "D": "double"}
_BINARY = ("+", "-", "*", "/", "%", "<", "<=", ">", ">=")
_NUMBERS = ("int", "uint", "double")
_CONSTRUCTORS: dict[type, str] = {Uint: "uint", datetime: "timestamp", timedelta: "duration"}
_LIBRARY_TYPES = (bool, int, Uint, float, str, bytes, list, dict, type(None), datetime, timedelta)


class CelCompileError(Exception):
    """An expression that does not parse, type-check or compile."""


class CelUnavailableError(Exception):
    """The library cannot be loaded on this machine."""


@cache
def _library() -> Any:
    try:
        return import_module("cel_expr_python.cel")
    except ImportError as error:
        raise CelUnavailableError(
            f"device selectors need the package cel-expr-python, which cannot be loaded: {error}"
        ) from None


@cache
def _checker(reads_lists: bool) -> Any:
    """The library's environment that checks expressions over `device`."""
    cel = _library()
    kinds = cel.Type
    types = {letter: getattr(kinds, name) for letter, name in _BASIC.items()}
    types |= {letter: kinds.AbstractType(name) for letter, name in _OPAQUE.items()}
    types["L"] = kinds.List(kinds.STRING)
    text = kinds.STRING
    attribute = kinds.DYN if reads_lists else kinds("google.protobuf.Any")
    numbers = _declared(cel, _cross_type_comparisons(cel, types))
    lists = _declared(cel, _list_overloads(cel, reads_lists))
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(_EXTENSIONS),
        # The fields are variables with qualified names: as fields of `device` they would have to be
        # those of a protobuf message, which cannot hold a map of maps.
        variables={
            DEVICE: kinds.Map(text, kinds.DYN),
            DRIVER: text,
            ATTRIBUTES: kinds.Map(text, kinds.Map(text, attribute)),
            CAPACITY: kinds.Map(text, kinds.Map(text, types["Q"])),
            ALLOW_MULTIPLE_ALLOCATIONS: kinds.BOOL,
        },
        functions=_declared(cel, _kubernetes_overloads(cel, types)),
        extensions=[
            cel.CelExtension("numbers", numbers),
            cel.CelExtension("lists of Kubernetes", lists),
        ],
    )


def _declared(cel: Any, overloads: Iterable[tuple[str, Any]]) -> list[Any]:
    """The functions that have these overloads, each by the function's name."""
    by_function: dict[str, list[Any]] = {}
    for function, overload in overloads:
        by_function.setdefault(function, []).append(overload)
    return [cel.FunctionDecl(name, of_function) for name, of_function in by_function.items()]


def _kubernetes_overloads(cel: Any, types: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for function, name, result, letters, member in _KUBERNETES:
        parameters = [types[letter] for letter in letters]
        kind = types[result]
        overload = cel.Overload(name, return_type=kind, parameters=parameters, is_member=member)
        yield function, overload


def _list_overloads(cel: Any, reads_lists: bool) -> Iterator[tuple[str, Any]]:
    def overload(name: str, result: Any, *parameters: Any) -> Any:
        return cel.Overload(name, return_type=result, parameters=list(parameters), is_member=True)

    ordered = {name.lower(): getattr(cel.Type, name) for name in _ORDERED}
    for name, kind in ordered.items():
        list_type = cel.Type.List(kind)
        yield "isSorted", overload(f"list_{name}_is_sorted_bool", cel.Type.BOOL, list_type)
        yield "min", overload(f"list_{name}_min_{name}", kind, list_type)
        yield "max", overload(f"list_{name}_max_{name}", kind, list_type)
        if name in _SUMMABLE:
            yield "sum", overload(f"list_{name}_sum_{name}", kind, list_type)
    # The library takes no type parameters; check_literals checks that the types agree.
    kind = cel.Type.DYN
    for function, name in (("indexOf", "index_of"), ("lastIndexOf", "last_index_of")):
        yield function, overload(f"list_a_{name}_int", cel.Type.INT, cel.Type.List(kind), kind)
    if reads_lists:
        yield "includes", overload("list_includes_dyn_dyn", cel.Type.BOOL, kind, kind)


def _cross_type_comparisons(cel: Any, types: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Upstream: cel.CrossTypeNumericComparisons."""
    for operator, name in _COMPARISONS.items():
        for left, right in permutations(_NUMBER_IDS, 2):
            overload = f"{name}_{_NUMBER_IDS[left]}_{_NUMBER_IDS[right]}"
            parameters = [types[left], types[right]]
            yield operator, cel.Overload(overload, return_type=types["B"], parameters=parameters)


@cache
def _runner() -> Any:
    """The library's environment that runs its own functions, on arguments of any type."""
    cel = _library()
    variables = {f"x{i}": cel.Type.DYN for i in range(4)}
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_EXTENSIONS), variables=variables)


def check(expression: str, reads_lists: bool = True) -> CheckedExpression:
    """Parses and type-checks. Raises CelCompileError, CelUnavailableError.

    reads_lists: attributes may be lists, and `includes` is known (kube.versions, Rules)

    Expressions of stored objects may use whatever a feature gate would add to a device, on or off.
    Upstream: apiserver/pkg/cel/environment (StoredExpressions).
    """
    try:
        return read(_checker(reads_lists).compile(expression).serialize())
    except RuntimeError as error:
        message = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        raise CelCompileError(f"compilation failed: {message}") from None


def library_call(function: str, arguments: Sequence[Any], is_member: bool) -> Any:
    """Calls one of the library's own functions. Raises CelError."""
    supported = all(type(argument) in _LIBRARY_TYPES for argument in arguments)
    # The library converts booleans to numbers, CEL's specification does not.
    if not supported or (function in _NUMBERS and type(arguments[0]) is bool):
        raise no_overload(function, *arguments)
    # The library takes these from outside only as text or plain numbers.
    constructors = tuple(_CONSTRUCTORS.get(type(argument), "") for argument in arguments)
    inputs = {f"x{i}": _library_input(argument) for i, argument in enumerate(arguments)}
    result = _program(function, constructors, is_member).eval(data=inputs)
    kind = result.type().name()
    value = result.plain_value()
    if kind == "ERROR":
        raise CelError(str(value).partition(": ")[2] or str(value))
    if kind == "UINT":
        return Uint(value)
    return bytes(value) if isinstance(value, bytearray) else value


def _library_input(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{value / timedelta(microseconds=1):.0f}us"
    return value.isoformat() if isinstance(value, datetime) else value


@cache
def _program(function: str, constructors: tuple[str, ...], is_member: bool) -> Any:
    names = [
        f"{constructor}(x{i})" if constructor else f"x{i}"
        for i, constructor in enumerate(constructors)
    ]
    operator = function.strip("_")
    if operator in _BINARY and len(names) == 2:
        text = f"{names[0]} {operator} {names[1]}"
    elif is_member:
        text = f"{names[0]}.{function}({', '.join(names[1:])})"
    else:
        text = f"{function}({', '.join(names)})"
    try:
        return _runner().compile(text)
    except RuntimeError:
        raise CelError(f"no such overload: {function}") from None

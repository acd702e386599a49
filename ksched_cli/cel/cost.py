"""The runtime cost of CEL calls, in CEL's cost units. As upstream, an expression whose cost exceeds
LIMIT is stopped.

Upstream: cel-go/interpreter/runtimecost.go (costCall), cel-go/ext (lists.go, sets.go),
apiserver/pkg/cel/library/cost.go (CallCost), api/resource/v1/types.go
(CELSelectorExpressionMaxCost).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ksched_cli.cel.functions import CIDR, IP
from ksched_cli.cel.values import Optional, Semver
from ksched_cli.kube.quantity import Quantity

LIMIT = 1_000_000
# Functions that could take all memory before their cost is known from their result.
PAID_BEFORE = ("lists.range",)
LIST_COST = 10
MAP_COST = 30

Cost = Callable[[Sequence[Any], Any], int]
"""The cost by a call's arguments and its result."""


def call_cost(function: str, overloads: tuple[str, ...]) -> Cost:
    """Return the function that computes a call's cost from its arguments and its result.

    Kubernetes's functions have a cost by name; CEL's own by overload, where the argument types
    leave exactly one, else 1.
    """
    by_name = _BY_FUNCTION.get(function)
    if by_name is not None:
        return _constant_cost if function in _BY_TYPE and len(overloads) > 1 else by_name
    return _BY_OVERLOAD.get(overloads[0], _constant_cost) if len(overloads) == 1 else _constant_cost


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return _size(value.value)
    if isinstance(value, IP | CIDR):
        return -(-value.bits // 8)
    return 1


def _tenths(count: int) -> int:
    """count / 10, rounded up."""
    return -(-count // 10)


def _new_list(elements: int) -> int:
    return elements + 1 + LIST_COST


def _constant_cost(arguments: Sequence[Any], result: Any) -> int:
    return 1


def _tenth_of_first(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(_size(arguments[0]))


def _tenth_of_shorter(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(min(_size(arguments[0]), _size(arguments[1])))


def _equality(arguments: Sequence[Any], result: Any) -> int:
    if isinstance(arguments[0], Quantity | Semver | IP | CIDR):
        return 1
    return _tenth_of_shorter(arguments, result)


def _regex(arguments: Sequence[Any], result: Any) -> int:
    """Return a tenth of the text's length times a quarter of the pattern's, each rounded up."""
    return _tenths(1 + _size(arguments[0])) * -(-_size(arguments[1]) // 4)


def _traversal(value: Any) -> int:
    """Upstream: traversalCost, which counts bytes and rounds down."""
    if isinstance(value, str | bytes):
        return len(value.encode() if isinstance(value, str) else value) // 10
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _network_contains(arguments: Sequence[Any], result: Any) -> int:
    network, other = arguments
    parsing = _tenths(len(other)) if isinstance(other, str) else 0
    return _tenths(2 * _size(network)) + parsing


def _range(arguments: Sequence[Any], result: Any) -> int:
    (count,) = arguments
    return _new_list(max(count, 0) if type(count) is int else 0)


def _self_compared(values: Any) -> int:
    """Upstream: ext/lists.go (trackListSelfCompare)."""
    texts = bool(values) and isinstance(values[0], str | bytes)
    return _new_list(int(len(values) ** 2 * (2.1 if texts else 2.0)))


def _product_of_sizes(factor: int) -> Cost:
    return lambda arguments, result: 1 + factor * _size(arguments[0]) * _size(arguments[1])


def _shared(cost: Cost, *names: str) -> dict[str, Cost]:
    """Return the same cost of several functions."""
    return dict.fromkeys(names, cost)


_BY_FUNCTION: dict[str, Cost] = {
    **_shared(
        lambda arguments, result: _traversal(arguments[0]),
        *("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"),
    ),
    **_shared(_tenth_of_first, "lowerAscii", "upperAscii", "substring", "trim"),
    **_shared(_tenth_of_first, "quantity", "isQuantity", "semver", "isSemver"),
    **_shared(
        lambda arguments, result: _tenths(2 * _size(arguments[0])),
        *("replace", "split", "ip.isCanonical"),
    ),
    "join": lambda arguments, result: _tenths(2 * _size(result)),
    **_shared(_regex, "find", "findAll"),
    # Parsing an address or network costs by the length of its text; the `ip` of a CIDR costs 1.
    **_shared(
        lambda arguments, result: (
            1 if isinstance(arguments[0], CIDR) else _tenth_of_first(arguments, result)
        ),
        *("ip", "isIP", "cidr", "isCIDR"),
    ),
    "containsIP": _network_contains,
    "containsCIDR": lambda arguments, result: (
        _network_contains(arguments, result) + _tenths(_size(arguments[0])) + 1
    ),
    **_shared(lambda arguments, result: _new_list(_size(result)), "slice", "reverse"),
    "lists.range": _range,
    "flatten": lambda arguments, result: _new_list(
        (arguments[1] if len(arguments) == 2 else 1) * _size(arguments[0])
    ),
    **_shared(lambda arguments, result: _self_compared(arguments[0]), "distinct", "sort"),
    "@sortByAssociatedKeys": lambda arguments, result: _self_compared(arguments[1]),
    **_shared(_product_of_sizes(1), "sets.contains", "sets.intersects"),
    "sets.equivalent": _product_of_sizes(2),
    "_==_": _equality,
}
# Functions of cel-go with an overload per element type.
_BY_TYPE = ("sort", "@sortByAssociatedKeys")
_COMPARISONS = ("less", "greater", "less_equals", "greater_equals")
_BY_OVERLOAD: dict[str, Cost] = {
    **_shared(_tenth_of_first, "starts_with_string", "ends_with_string", "strings_quote"),
    **_shared(_tenth_of_first, "string_to_bytes", "bytes_to_string", "string_format"),
    "in_list": lambda arguments, result: _size(arguments[1]),
    "not_equals": _tenth_of_shorter,
    **_shared(
        _tenth_of_shorter, *(f"{c}_{kind}" for c in _COMPARISONS for kind in ("string", "bytes"))
    ),
    **_shared(
        lambda arguments, result: _tenths(_size(arguments[0]) + _size(arguments[1])),
        *("add_string", "add_bytes"),
    ),
    "matches_string": _regex,
    "contains_string": lambda arguments, result: (
        _tenths(_size(arguments[0])) * _tenths(_size(arguments[1]))
    ),
}

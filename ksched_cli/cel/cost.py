"""The runtime cost of CEL calls, in CEL's cost units. As upstream, an expression whose cost exceeds
LIMIT is stopped.

Upstream: cel-go/interpreter/runtimecost.go (costCall), cel-go/ext (lists.go, sets.go),
apiserver/pkg/cel/library/cost.go (CallCost), api/resource/v1/types.go
(CELSelectorExpressionMaxCost).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ksched_cli.cel.functions.network import CIDR, IP
from ksched_cli.cel.values import Optional, Semver
from ksched_cli.kube.quantity import Quantity

LIMIT = 1_000_000
# Functions that could take all memory before their cost is known from their result.
PAID_BEFORE = ("lists.range",)
LIST_COST = 10
MAP_COST = 30

Cost = Callable[[Sequence[Any], Any], int]


def call_cost(function: str, overloads: tuple[str, ...]) -> Cost:
    """The function that computes a call's cost from its arguments and its result.

    Kubernetes's functions have a cost by name; CEL's own by overload, where the argument types
    leave exactly one, else 1.
    """
    by_name = _BY_FUNCTION.get(function)
    if by_name is not None:
        return _constant_cost if function in _BY_TYPE and len(overloads) > 1 else by_name
    if function == "_==_":
        return _equality
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


def _quarters(count: int) -> int:
    """count / 4, rounded up."""
    return -(-count // 4)


def _constant_cost(arguments: Sequence[Any], result: Any) -> int:
    return 1


def _equality(arguments: Sequence[Any], result: Any) -> int:
    if isinstance(arguments[0], Quantity | Semver | IP | CIDR):
        return 1
    return _tenth_of_shorter(arguments, result)


def _tenth_of_shorter(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(min(_size(arguments[0]), _size(arguments[1])))


def _tenth_of_both(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(_size(arguments[0]) + _size(arguments[1]))


def _tenth_of_first(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(_size(arguments[0]))


def _tenth_of_first_twice(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(2 * _size(arguments[0]))


def _tenth_of_result_twice(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(2 * _size(result))


def _list_size(arguments: Sequence[Any], result: Any) -> int:
    return _size(arguments[1])


def _regex(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(1 + _size(arguments[0])) * _quarters(_size(arguments[1]))


def _substring(arguments: Sequence[Any], result: Any) -> int:
    return _tenths(_size(arguments[0])) * _tenths(_size(arguments[1]))


def _traversal(arguments: Sequence[Any], result: Any) -> int:
    return _traversal_cost(arguments[0])


def _traversal_cost(value: Any) -> int:
    """Upstream: traversalCost, which counts bytes and rounds down."""
    if isinstance(value, str | bytes):
        return len(value.encode() if isinstance(value, str) else value) // 10
    if isinstance(value, list):
        return sum(map(_traversal_cost, value))
    if isinstance(value, dict):
        return sum(_traversal_cost(key) + _traversal_cost(item) for key, item in value.items())
    return 1


def _parsed(arguments: Sequence[Any], result: Any) -> int:
    """Parsing an address or network costs by the length of its text; the `ip` of a CIDR costs 1."""
    return 1 if isinstance(arguments[0], CIDR) else _tenth_of_first(arguments, result)


def _network_contains(arguments: Sequence[Any], result: Any) -> int:
    network, other = arguments
    parsing = _tenths(len(other)) if isinstance(other, str) else 0
    return _tenths(2 * _size(network)) + parsing


def _network_covers(arguments: Sequence[Any], result: Any) -> int:
    return _network_contains(arguments, result) + _tenths(_size(arguments[0])) + 1


def _result_list(arguments: Sequence[Any], result: Any) -> int:
    return _new_list(_size(result))


def _range(arguments: Sequence[Any], result: Any) -> int:
    (count,) = arguments
    return _new_list(max(count, 0) if type(count) is int else 0)


def _flattened(arguments: Sequence[Any], result: Any) -> int:
    return _new_list((arguments[1] if len(arguments) == 2 else 1) * _size(arguments[0]))


def _first_sorted(arguments: Sequence[Any], result: Any) -> int:
    return _self_compared(arguments[0])


def _keys_sorted(arguments: Sequence[Any], result: Any) -> int:
    return _self_compared(arguments[1])


def _self_compared(values: Any) -> int:
    """Upstream: ext/lists.go (trackListSelfCompare)."""
    texts = bool(values) and isinstance(values[0], str | bytes)
    return _new_list(int(len(values) ** 2 * (2.1 if texts else 2.0)))


def _new_list(elements: int) -> int:
    return elements + 1 + LIST_COST


def _product_of_sizes(factor: int) -> Cost:
    def cost(arguments: Sequence[Any], result: Any) -> int:
        return 1 + factor * _size(arguments[0]) * _size(arguments[1])

    return cost


_BY_FUNCTION: dict[str, Cost] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _traversal
    ),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _tenth_of_first),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _tenth_of_first),
    **dict.fromkeys(("replace", "split"), _tenth_of_first_twice),
    "join": _tenth_of_result_twice,
    **dict.fromkeys(("find", "findAll"), _regex),
    **dict.fromkeys(("ip", "isIP", "cidr", "isCIDR"), _parsed),
    "ip.isCanonical": _tenth_of_first_twice,
    "containsIP": _network_contains,
    "containsCIDR": _network_covers,
    **dict.fromkeys(("slice", "reverse"), _result_list),
    "lists.range": _range,
    "flatten": _flattened,
    **dict.fromkeys(("distinct", "sort"), _first_sorted),
    "@sortByAssociatedKeys": _keys_sorted,
    **dict.fromkeys(("sets.contains", "sets.intersects"), _product_of_sizes(1)),
    "sets.equivalent": _product_of_sizes(2),
}
# Functions of cel-go with an overload per element type.
_BY_TYPE = ("sort", "@sortByAssociatedKeys")
_COMPARISONS = ("less", "greater", "less_equals", "greater_equals")
_BY_OVERLOAD: dict[str, Cost] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string", "strings_quote"), _tenth_of_first),
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "string_format"), _tenth_of_first),
    "in_list": _list_size,
    "not_equals": _tenth_of_shorter,
    **{
        f"{name}_{kind}": _tenth_of_shorter for name in _COMPARISONS for kind in ("string", "bytes")
    },
    **dict.fromkeys(("add_string", "add_bytes"), _tenth_of_both),
    "matches_string": _regex,
    "contains_string": _substring,
}

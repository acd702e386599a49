"""CEL functions of lists and sets: Kubernetes's own, and cel-go's extensions.

Upstream: apiserver/pkg/cel/library/lists.go, cel-go/ext (lists.go, sets.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from ksched_cli.cel.environment import library_call
from ksched_cli.cel.values import (
    CelError,
    Uint,
    add,
    compare,
    contains,
    equal,
    no_overload,
    type_name,
)

Function = Callable[..., Any]

_ORDERED = (bool, int, Uint, float, str, bytes, datetime, timedelta)
_ZEROS = {int: 0, Uint: Uint(0), float: 0.0, timedelta: timedelta()}


def _list(function: str, values: Any) -> list[Any]:
    if type(values) is not list:
        raise no_overload(function, values)
    return values


def _order(left: Any, right: Any) -> int:
    """-1, 0 or 1. Upstream ignores the error of values that cannot be compared: 0."""
    try:
        return compare("compare", left, right)
    except CelError:
        return 0


# -- Kubernetes's --------------------------------------------------------------------------------


def _ordered(function: str, values: Any) -> Iterator[Any]:
    """Yields the elements. Raises CelError at the first whose type has no order."""
    for value in _list(function, values):
        if type(value) not in _ORDERED:
            raise no_overload(function, value)
        yield value


def _is_sorted(values: Any) -> bool:
    return all(_order(a, b) <= 0 for a, b in pairwise(_ordered("isSorted", values)))


def _extreme(function: str, sign: int) -> Function:
    def extreme(values: Any) -> Any:
        elements = _ordered(function, values)
        best = next(elements, None)
        if best is None:
            raise CelError(f"{function} called on empty list")
        for value in elements:
            if _order(value, best) == sign:
                best = value
        return best

    return extreme


def _sum(values: Any) -> Any:
    """For lists of unknown element type: the first element's type decides the type of zero."""
    elements = _list("sum", values)
    return _total(_ZEROS.get(type(elements[0])) if elements else 0, elements)


def _sum_from(zero: Any) -> Function:
    return lambda values: _total(zero, values)


def _total(zero: Any, values: Sequence[Any]) -> Any:
    total = zero
    for value in values:
        total = add(total, value)
    return total


def _index_of(values: Any, element: Any, *start: Any) -> int:
    if type(values) is not list:
        return int(library_call("indexOf", (values, element, *start), True))
    return _first_index(range(len(values)), values, element)


def _last_index_of(values: Any, element: Any, *start: Any) -> int:
    if type(values) is not list:
        return int(library_call("lastIndexOf", (values, element, *start), True))
    return _first_index(reversed(range(len(values))), values, element)


def _includes(values: Any, element: Any) -> bool:
    if type(values) is not list:
        return _is_equal(values, element)
    return any(_is_equal(value, element) for value in values)


def _is_equal(value: Any, element: Any) -> bool:
    try:
        return bool(equal(value, element))
    except CelError:
        return False


def _first_index(indices: Iterable[int], values: Sequence[Any], element: Any) -> int:
    for index in indices:
        if _is_equal(values[index], element):
            return index
    return -1


# -- the extensions' ------------------------------------------------------------------------------


def _range(count: Any) -> list[Any]:
    if type(count) is not int:
        raise no_overload("lists.range", count)
    return list(range(count))


def _slice(values: Any, start: Any, end: Any) -> list[Any]:
    elements = _list("slice", values)
    if type(start) is not int or type(end) is not int:
        raise no_overload("slice", values, start, end)
    if not 0 <= start <= end <= len(elements):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return elements[start:end]


def _flatten(values: Any, depth: Any = 1) -> list[Any]:
    if type(depth) is not int:
        raise no_overload("flatten", values, depth)
    if depth < 0:
        raise CelError("level must be non-negative")
    return list(_flat(_list("flatten", values), depth))


def _flat(values: list[Any], depth: int) -> Iterator[Any]:
    for value in values:
        if type(value) is list and depth:
            yield from _flat(value, depth - 1)
        else:
            yield value


def _reverse(values: Any) -> list[Any]:
    return _list("reverse", values)[::-1]


def _distinct(values: Any) -> list[Any]:
    elements: list[Any] = []
    for value in _list("distinct", values):
        if not contains(elements, value):
            elements.append(value)
    return elements


def _sort(values: Any) -> list[Any]:
    return _sort_by_keys(_list("sort", values), values)


def _sort_by_keys(values: Any, keys: Any) -> list[Any]:
    """Upstream: sortListByAssociatedKeys."""
    if keys and type(keys[0]) not in _ORDERED:
        raise CelError("list elements must be comparable")
    if len({type_name(key) for key in keys}) > 1:
        raise CelError("list elements must have the same type")
    by_key = cmp_to_key(lambda i, j: _order(keys[i], keys[j]))
    return [values[i] for i in sorted(range(len(values)), key=by_key)]


def _contains_all(left: Any, subset: Any) -> bool:
    superset = _list("sets.contains", left)
    return all(contains(superset, value) for value in _list("sets.contains", subset))


def _are_equivalent(left: Any, right: Any) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersect(left: Any, right: Any) -> bool:
    elements = _list("sets.intersects", right)
    return any(contains(elements, value) for value in _list("sets.intersects", left))


# Sums by overload too: the sum of an empty list depends on its element type.
LISTS: dict[str, Function] = {
    "isSorted": _is_sorted,
    "min": _extreme("min", -1),
    "max": _extreme("max", 1),
    "sum": _sum,
    "list_int_sum_int": _sum_from(0),
    "list_uint_sum_uint": _sum_from(Uint(0)),
    "list_double_sum_double": _sum_from(0.0),
    "list_duration_sum_duration": _sum_from(timedelta()),
    "includes": _includes,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lists.range": _range,
    "slice": _slice,
    "flatten": _flatten,
    "reverse": _reverse,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort_by_keys,
    "sets.contains": _contains_all,
    "sets.equivalent": _are_equivalent,
    "sets.intersects": _intersect,
}

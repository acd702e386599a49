"""CEL's functions but for conversions, times and most of strings (cel/standard.py).

Upstream: cel-go/common/types, cel-go/cel/library.go (optionals), cel-go/ext (lists.go, sets.go),
apiserver/pkg/cel (ip.go, cidr.go), apiserver/pkg/cel/library (quantity.go, semverlib.go, lists.go,
ip.go, cidr.go, regex.go).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.cel.standard import (
    CONVERSIONS,
    STRINGS,
    add_times,
    index_of,
    last_index_of,
    negate,
    subtract_times,
)
from ksched_cli.cel.values import (
    NONE,
    CelError,
    Duration,
    Optional,
    QuantitySum,
    Semver,
    Timestamp,
    TypeName,
    Uint,
    add,
    checked_int,
    compare,
    contains,
    is_equal,
    no_overload,
    normalized_semver,
    order,
    size,
    text,
    type_name,
)
from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64, divide
from ksched_cli.kube.quantity import Quantity, QuantityError

Function: TypeAlias = Callable[..., Any]


def _method(function: str, kind: type, result_of: Function) -> Function:
    """A function of one value of a type; values of other types have no overload of it."""

    def method(value: Any) -> Any:
        if not isinstance(value, kind):
            raise no_overload(function, value)
        return result_of(value)

    return method


def _is_valid(function: str, parse: Function) -> Function:
    """Return whether a text can be parsed."""

    def is_valid(literal: Any, *options: Any) -> bool:
        text(function, literal)
        try:
            parse(literal, *options)
        except CelError:
            return False
        return True

    return is_valid


# -- operators, strings, types -------------------------------------------------------------------


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, Timestamp | Duration):
        return add_times(left, right)
    return add(left, right)


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, Timestamp | Duration):
        return subtract_times(left, right)
    return _numbers_difference(left, right)


def _arithmetic(function: str, of_integers: Function, of_floats: Function | None) -> Function:
    """Return an operation on two numbers of one type. of_floats: None if floats have none"""
    kinds = (int, Uint) if of_floats is None else (int, Uint, float)

    def operation(left: Any, right: Any) -> Any:
        kind = type(left)
        if kind is not type(right) or kind not in kinds:
            raise no_overload(function, left, right)
        if of_floats is not None and kind is float:
            return of_floats(left, right)
        return checked_int(of_integers(int(left), int(right)), kind)

    return operation


_numbers_difference = _arithmetic("_-_", operator.sub, operator.sub)


def _quotient(left: int, right: int) -> int:
    if not right:
        raise CelError("division by zero")
    return divide(left, right)


def _float_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or not left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _remainder(left: int, right: int) -> int:
    if not right:
        raise CelError("modulus by zero")
    if left == MIN_INT64 and right == -1:
        raise CelError("integer overflow")
    return left - divide(left, right) * right


def _negate(value: Any) -> Any:
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return negate(value)
    if type(value) is int:
        return checked_int(-value, int)
    raise no_overload("-_", value)


def _comparison(function: str, holds: Callable[[int, int], bool]) -> Function:
    return lambda left, right: holds(compare(function, left, right), 0)


def _map_insert(target: Any, *entries: Any) -> dict[Any, Any]:
    """entries: a key and its value, or one map."""
    added = entries[0] if len(entries) == 1 else dict([entries])
    for key in added:
        if key in target:
            raise CelError(f"insert failed: key {key} already exists")
    return {**target, **added}


# -- optionals -----------------------------------------------------------------------------------

# The zero value of Go's time.Time.
_ZERO_TIMESTAMP = CONVERSIONS["timestamp"]("0001-01-01T00:00:00Z")


def _of_non_zero(value: Any) -> Optional:
    """Upstream: traits.Zeroer; types that do not implement it are never zero."""
    if value in (None, _ZERO_TIMESTAMP, Duration(0)):
        return NONE
    of_plain_type = isinstance(value, bool | int | float | str | bytes | list | dict)
    return NONE if of_plain_type and not value else Optional(True, value)


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _unwrap(values: Any) -> list[Any]:
    as_optional = _method("optional.unwrap", Optional, lambda optional: optional)
    return [optional.value for optional in map(as_optional, values) if optional.present]


STANDARD: dict[str, Function] = {
    **CONVERSIONS,
    **STRINGS,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _arithmetic("_*_", operator.mul, operator.mul),
    "_/_": _arithmetic("_/_", _quotient, _float_quotient),
    "_%_": _arithmetic("_%_", _remainder, None),
    "-_": _negate,
    "!_": _method("!_", bool, operator.not_),
    "_<_": _comparison("_<_", operator.lt),
    "_<=_": _comparison("_<=_", operator.le),
    "_>_": _comparison("_>_", operator.gt),
    "_>=_": _comparison("_>=_", operator.ge),
    "size": size,
    "startsWith": lambda whole, part: text("startsWith", whole).startswith(
        text("startsWith", part)
    ),
    "endsWith": lambda whole, part: text("endsWith", whole).endswith(text("endsWith", part)),
    "contains": lambda whole, part: text("contains", part) in text("contains", whole),
    "optional.of": lambda value: Optional(True, value),
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.none": lambda: NONE,
    "hasValue": _method("hasValue", Optional, lambda optional: optional.present),
    "value": _method("value", Optional, _value),
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
    "first": lambda values: Optional(True, values[0]) if values else NONE,
    "last": lambda values: Optional(True, values[-1]) if values else NONE,
    "cel.@mapInsert": _map_insert,
    "type": lambda value: TypeName(type_name(value)),
    "dyn": lambda value: value,
}


# -- quantities and versions ---------------------------------------------------------------------


def _quantity(literal: Any) -> Quantity:
    try:
        return Quantity.parse(text("quantity", literal))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _int64_value(value: Quantity) -> int | None:
    """Return the amount as an int64, or None. Quantities that upstream stores as decimals have
    none."""
    if value.wide:
        return None
    shifted = value.unscaled * 10**value.scale if value.scale >= 0 else None
    if shifted is None:
        shifted, rest = divmod(value.unscaled, 10**-value.scale)
        if rest:
            return None
    return shifted if MIN_INT64 <= shifted <= MAX_INT64 else None


def _as_integer(value: Quantity) -> int:
    integer = _int64_value(value)
    if integer is None:
        raise CelError("cannot convert value to integer")
    return integer


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _sum_of_quantities(function: str, sign: int) -> Function:
    def result(left: Any, right: Any) -> Quantity:
        other = Quantity(right) if type(right) is int else right
        for value in (left, other):
            if not isinstance(value, Quantity):
                raise no_overload(function, value)
        signed = Quantity(sign * other.unscaled, other.scale, other.form, other.wide)
        return QuantitySum.of(left + signed)

    return result


def _semver(literal: Any, normalize: Any = False) -> Semver:
    version = text("semver", literal)
    if type(normalize) is not bool:
        raise no_overload("semver", literal, normalize)
    return Semver.parse(normalized_semver(version) if normalize else version)


KUBERNETES: dict[str, Function] = {
    "quantity": _quantity,
    "isQuantity": _is_valid("isQuantity", _quantity),
    "sign": _method("sign", Quantity, Quantity.sign),
    "isInteger": _method("isInteger", Quantity, lambda value: _int64_value(value) is not None),
    "asInteger": _method("asInteger", Quantity, _as_integer),
    # Infinite beyond the greatest float, as upstream's (Quantity.AsApproximateFloat64).
    "asApproximateFloat": _method(
        "asApproximateFloat", Quantity, lambda q: _float(q.unscaled) * _float(10**q.scale)
    ),
    "add": _sum_of_quantities("add", 1),
    "sub": _sum_of_quantities("sub", -1),
    "semver": _semver,
    "isSemver": _is_valid("isSemver", _semver),
    "major": _method("major", Semver, lambda version: version.major),
    "minor": _method("minor", Semver, lambda version: version.minor),
    "patch": _method("patch", Semver, lambda version: version.patch),
    "isGreaterThan": lambda left, right: order(left, right, "isGreaterThan") > 0,
    "isLessThan": lambda left, right: order(left, right, "isLessThan") < 0,
    "compareTo": lambda left, right: order(left, right, "compareTo"),
}


# -- Kubernetes's functions of lists -------------------------------------------------------------

_ORDERED = (bool, int, Uint, float, str, bytes, Timestamp, Duration)
_ZEROS = {int: 0, Uint: Uint(0), float: 0.0, Duration: Duration(0)}


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


def _ordered(function: str, values: Any) -> Iterator[Any]:
    """Yield the elements. Raises CelError at the first whose type has no order."""
    for value in _list(function, values):
        if type(value) not in _ORDERED:
            raise no_overload(function, value)
        yield value


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


def _total(zero: Any, values: Sequence[Any]) -> Any:
    total = zero
    for value in values:
        total = _add(total, value)
    return total


def _index_of(in_text: Function, indices: Callable[[int], Iterable[int]]) -> Function:
    """indices: of a list of so many elements, in the order in which they are searched"""

    def index(values: Any, element: Any, *start: Any) -> int:
        if type(values) is not list:
            return int(in_text(values, element, *start))
        return next((i for i in indices(len(values)) if is_equal(values[i], element)), -1)

    return index


def _includes(values: Any, element: Any) -> bool:
    if type(values) is not list:
        return is_equal(values, element)
    return any(is_equal(value, element) for value in values)


# -- cel-go's functions of lists and sets --------------------------------------------------------


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


def _distinct(values: Any) -> list[Any]:
    elements: list[Any] = []
    for value in _list("distinct", values):
        if not contains(elements, value):
            elements.append(value)
    return elements


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


def _intersect(left: Any, right: Any) -> bool:
    elements = _list("sets.intersects", right)
    return any(contains(elements, value) for value in _list("sets.intersects", left))


# Sums by overload too: the sum of an empty list depends on its element type.
LISTS: dict[str, Function] = {
    "isSorted": lambda values: all(
        _order(left, right) <= 0 for left, right in pairwise(_ordered("isSorted", values))
    ),
    "min": _extreme("min", -1),
    "max": _extreme("max", 1),
    "sum": _sum,
    "list_int_sum_int": lambda values: _total(0, values),
    "list_uint_sum_uint": lambda values: _total(Uint(0), values),
    "list_double_sum_double": lambda values: _total(0.0, values),
    "list_duration_sum_duration": lambda values: _total(Duration(0), values),
    "includes": _includes,
    "indexOf": _index_of(index_of, range),
    "lastIndexOf": _index_of(last_index_of, lambda count: reversed(range(count))),
    "lists.range": _range,
    "slice": _slice,
    "flatten": _flatten,
    "reverse": lambda values: _list("reverse", values)[::-1],
    "distinct": _distinct,
    "sort": lambda values: _sort_by_keys(_list("sort", values), values),
    "@sortByAssociatedKeys": _sort_by_keys,
    "sets.contains": _contains_all,
    "sets.equivalent": lambda left, right: (
        _contains_all(left, right) and _contains_all(right, left)
    ),
    "sets.intersects": _intersect,
}


# -- addresses and networks ----------------------------------------------------------------------

_BITS = re.compile(r"0|[1-9][0-9]{0,2}")
Address: TypeAlias = IPv4Address | IPv6Address


class IP(Struct, frozen=True):
    """An IP address. bits: the length of the address, 32 or 128."""

    address: Address

    @property
    def bits(self) -> int:
        return self.address.max_prefixlen


class CIDR(Struct, frozen=True):
    """A network. ip: any address in it, not only the first; bits: the prefix length."""

    ip: IP
    bits: int

    def masked(self) -> CIDR:
        prefix = int(self.ip.address) >> self._host_bits << self._host_bits
        return CIDR(IP(type(self.ip.address)(prefix)), self.bits)

    def contains(self, ip: IP) -> bool:
        if ip.bits != self.ip.bits:
            return False
        return int(ip.address) >> self._host_bits == int(self.ip.address) >> self._host_bits

    @property
    def _host_bits(self) -> int:
        return self.ip.bits - self.bits


def _parse_ip(literal: str) -> IP:
    try:
        address = ip_address(literal)
    except ValueError as error:
        raise CelError(f'IP Address "{literal}" parse error: {error}') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelError(f'IP address "{literal}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelError(f'IPv4-mapped IPv6 address "{literal}" is not allowed')
    return IP(address)


def _parse_cidr(literal: str) -> CIDR:
    address, slash, bits = literal.rpartition("/")
    if not slash or not _BITS.fullmatch(bits):
        raise CelError(f'network address parse error: "{literal}"')
    ip = _parse_ip(address)
    if int(bits) > ip.bits:
        raise CelError(f'network address parse error: "{literal}": prefix length out of range')
    return CIDR(ip, int(bits))


def _ip_property(name: str, property_of: Callable[[Address], object]) -> Function:
    return _method(name, IP, lambda ip: property_of(ip.address))


def _is_link_local_multicast(address: Address) -> bool:
    first = address.packed
    if address.version == 4:
        return first[:3] == b"\xe0\x00\x00"
    return first[0] == 0xFF and first[1] & 0x0F == 0x02


def _is_global_unicast(address: Address) -> bool:
    """As in upstream's net.IP.IsGlobalUnicast, private addresses count as global."""
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )


def _contains_ip(network: Any, other: Any) -> bool:
    ip = _parse_ip(other) if isinstance(other, str) else other
    if not isinstance(ip, IP):
        raise no_overload("containsIP", network, other)
    if not isinstance(network, CIDR):
        raise no_overload("containsIP", network)
    return network.contains(ip)


def _contains_cidr(network: Any, other: Any) -> bool:
    inner = _parse_cidr(other) if isinstance(other, str) else other
    if not isinstance(network, CIDR):
        raise no_overload("containsCIDR", network)
    if not isinstance(inner, CIDR):
        raise no_overload("containsCIDR", network, other)
    return network.bits <= inner.bits and network.contains(inner.ip)


NETWORK: dict[str, Function] = {
    "ip": lambda value: value.ip if isinstance(value, CIDR) else _parse_ip(text("ip", value)),
    "isIP": _is_valid("isIP", _parse_ip),
    "ip.isCanonical": lambda literal: (
        str(_parse_ip(text("ip.isCanonical", literal)).address) == literal
    ),
    "family": _ip_property("family", lambda address: address.version),
    "isUnspecified": _ip_property("isUnspecified", lambda address: address.is_unspecified),
    "isLoopback": _ip_property("isLoopback", lambda address: address.is_loopback),
    "isLinkLocalMulticast": _ip_property("isLinkLocalMulticast", _is_link_local_multicast),
    "isLinkLocalUnicast": _ip_property("isLinkLocalUnicast", lambda address: address.is_link_local),
    "isGlobalUnicast": _ip_property("isGlobalUnicast", _is_global_unicast),
    "cidr": lambda literal: _parse_cidr(text("cidr", literal)),
    "isCIDR": _is_valid("isCIDR", _parse_cidr),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": _method("prefixLength", CIDR, lambda network: network.bits),
    "masked": _method("masked", CIDR, CIDR.masked),
}

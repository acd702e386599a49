"""CEL functions that Kubernetes adds: quantities and semantic versions.

Upstream: apiserver/pkg/cel/library (quantity.go, semverlib.go).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ksched_cli.cel.values import (
    CelError,
    QuantitySum,
    Semver,
    no_overload,
    normalized_semver,
    order,
    text,
)
from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64
from ksched_cli.kube.quantity import Quantity, QuantityError

Function = Callable[..., Any]


def _quantity(literal: Any) -> Quantity:
    try:
        return Quantity.parse(text("quantity", literal))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _is_quantity(literal: Any) -> bool:
    return _parses(_quantity, text("isQuantity", literal))


def _as_quantity(function: str, value: Any) -> Quantity:
    if not isinstance(value, Quantity):
        raise no_overload(function, value)
    return value


def _sign(value: Any) -> int:
    return _as_quantity("sign", value).sign()


def _int64_value(value: Quantity) -> int | None:
    """The amount as an int64, or None. Quantities that upstream stores as decimals have none."""
    if value.wide:
        return None
    shifted = value.unscaled * 10**value.scale if value.scale >= 0 else None
    if shifted is None:
        shifted, rest = divmod(value.unscaled, 10**-value.scale)
        if rest:
            return None
    return shifted if MIN_INT64 <= shifted <= MAX_INT64 else None


def _is_integer(value: Any) -> bool:
    return _int64_value(_as_quantity("isInteger", value)) is not None


def _as_integer(value: Any) -> int:
    integer = _int64_value(_as_quantity("asInteger", value))
    if integer is None:
        raise CelError("cannot convert value to integer")
    return integer


def _as_float(value: Any) -> float:
    """Infinite beyond the greatest float, as upstream's (Quantity.AsApproximateFloat64)."""
    amount = _as_quantity("asApproximateFloat", value)
    return _float(amount.unscaled) * _float(10**amount.scale)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _quantity_add(left: Any, right: Any) -> Quantity:
    return QuantitySum.of(_as_quantity("add", left) + _operand("add", right))


def _quantity_sub(left: Any, right: Any) -> Quantity:
    other = _operand("sub", right)
    negative = Quantity(-other.unscaled, other.scale, other.form, other.wide)
    return QuantitySum.of(_as_quantity("sub", left) + negative)


def _operand(function: str, value: Any) -> Quantity:
    return Quantity(value) if type(value) is int else _as_quantity(function, value)


def _semver(literal: Any, normalize: Any = False) -> Semver:
    version = text("semver", literal)
    if type(normalize) is not bool:
        raise no_overload("semver", literal, normalize)
    return Semver.parse(normalized_semver(version) if normalize else version)


def _is_semver(literal: Any, normalize: Any = False) -> bool:
    return _parses(_semver, text("isSemver", literal), normalize)


def _version_part(name: str) -> Function:
    def part(value: Any) -> int:
        if not isinstance(value, Semver):
            raise no_overload(name, value)
        return int(getattr(value, name))

    return part


def _is_greater(left: Any, right: Any) -> bool:
    return order(left, right, "isGreaterThan") > 0


def _is_less(left: Any, right: Any) -> bool:
    return order(left, right, "isLessThan") < 0


def _compare_to(left: Any, right: Any) -> int:
    return order(left, right, "compareTo")


def _parses(function: Function, *arguments: Any) -> bool:
    try:
        function(*arguments)
    except CelError:
        return False
    return True


KUBERNETES: dict[str, Function] = {
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "sign": _sign,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": _as_float,
    "add": _quantity_add,
    "sub": _quantity_sub,
    "semver": _semver,
    "isSemver": _is_semver,
    "major": _version_part("major"),
    "minor": _version_part("minor"),
    "patch": _version_part("patch"),
    "isGreaterThan": _is_greater,
    "isLessThan": _is_less,
    "compareTo": _compare_to,
}

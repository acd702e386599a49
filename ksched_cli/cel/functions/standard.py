"""CEL's standard operators and functions, as far as they are not left to the library.

The others (conversions, regular expressions, times, most on strings and lists) take none of
Kubernetes's own types and run in the library, see cel/environment.py (library_call).

Upstream: cel-go/common/types, cel-go/cel/library.go (optionals).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from ksched_cli.cel.environment import library_call
from ksched_cli.cel.values import (
    NONE,
    CelError,
    Optional,
    TypeName,
    Uint,
    add,
    checked_int,
    compare,
    no_overload,
    size,
    text,
    type_name,
)
from ksched_cli.kube.int64 import MIN_INT64, divide

Function = Callable[..., Any]

# The zero value of Go's time.Time.
_ZERO_TIMESTAMP = datetime(1, 1, 1, tzinfo=UTC)


# -- operators -----------------------------------------------------------------------------------


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, datetime | timedelta):
        return library_call("_+_", (left, right), False)
    return add(left, right)


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, datetime | timedelta):
        return library_call("_-_", (left, right), False)
    _require_same_number_type("_-_", left, right)
    if isinstance(left, float):
        return left - right
    return checked_int(int(left) - int(right), type(left))


def _multiply(left: Any, right: Any) -> Any:
    _require_same_number_type("_*_", left, right)
    if isinstance(left, float):
        return left * right
    return checked_int(int(left) * int(right), type(left))


def _divide(left: Any, right: Any) -> Any:
    _require_same_number_type("_/_", left, right)
    if isinstance(left, float):
        return _divide_floats(left, right)
    if not right:
        raise CelError("division by zero")
    return checked_int(divide(int(left), int(right)), type(left))


def _divide_floats(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or not left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo(left: Any, right: Any) -> Any:
    _require_same_number_type("_%_", left, right)
    if isinstance(left, float):
        raise no_overload("_%_", left, right)
    if not right:
        raise CelError("modulus by zero")
    if int(left) == MIN_INT64 and right == -1:
        raise CelError("integer overflow")
    return checked_int(int(left) - divide(int(left), int(right)) * int(right), type(left))


def _require_same_number_type(function: str, left: Any, right: Any) -> None:
    if type(left) is not type(right) or type(left) not in (int, Uint, float):
        raise no_overload(function, left, right)


def _negate(value: Any) -> Any:
    if type(value) is float or type(value) is timedelta:
        return -value
    if type(value) is int:
        return checked_int(-value, int)
    raise no_overload("-_", value)


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise no_overload("!_", value)
    return not value


def _less(left: Any, right: Any) -> bool:
    return compare("_<_", left, right) < 0


def _less_equals(left: Any, right: Any) -> bool:
    return compare("_<=_", left, right) <= 0


def _greater(left: Any, right: Any) -> bool:
    return compare("_>_", left, right) > 0


def _greater_equals(left: Any, right: Any) -> bool:
    return compare("_>=_", left, right) >= 0


# -- strings -------------------------------------------------------------------------------------


def _starts_with(whole: Any, prefix: Any) -> bool:
    return text("startsWith", whole).startswith(text("startsWith", prefix))


def _ends_with(whole: Any, suffix: Any) -> bool:
    return text("endsWith", whole).endswith(text("endsWith", suffix))


def _has_substring(whole: Any, part: Any) -> bool:
    return text("contains", part) in text("contains", whole)


# -- optionals -----------------------------------------------------------------------------------


def _of(value: Any) -> Optional:
    return Optional(True, value)


def _of_non_zero(value: Any) -> Optional:
    """Upstream: traits.Zeroer; types that do not implement it are never zero."""
    if value is None or value == _ZERO_TIMESTAMP:
        return NONE
    of_plain_type = isinstance(value, bool | int | float | str | bytes | list | dict | timedelta)
    return NONE if of_plain_type and not value else Optional(True, value)


def _none() -> Optional:
    return NONE


def _as_optional(function: str, value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload(function, value)
    return value


def _has_value(value: Any) -> bool:
    return _as_optional("hasValue", value).present


def _value(value: Any) -> Any:
    if not _as_optional("value", value).present:
        raise CelError("optional.none() dereference")
    return value.value


def _unwrap(values: Any) -> list[Any]:
    optionals = [_as_optional("optional.unwrap", value) for value in values]
    return [optional.value for optional in optionals if optional.present]


def _first(values: Any) -> Optional:
    return Optional(True, values[0]) if values else NONE


def _last(values: Any) -> Optional:
    return Optional(True, values[-1]) if values else NONE


# -- expanded macros -----------------------------------------------------------------------------


def _map_insert(target: Any, *entries: Any) -> dict[Any, Any]:
    """entries: a key and its value, or one map."""
    added = entries[0] if len(entries) == 1 else dict([entries])
    for key in added:
        if key in target:
            raise CelError(f"insert failed: key {key} already exists")
    return {**target, **added}


# -- types ---------------------------------------------------------------------------------------


def _type(value: Any) -> TypeName:
    return TypeName(type_name(value))


def _identity(value: Any) -> Any:
    return value


STANDARD: dict[str, Function] = {
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "!_": _not,
    "_<_": _less,
    "_<=_": _less_equals,
    "_>_": _greater,
    "_>=_": _greater_equals,
    "size": size,
    "startsWith": _starts_with,
    "endsWith": _ends_with,
    "contains": _has_substring,
    "optional.of": _of,
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.none": _none,
    "hasValue": _has_value,
    "value": _value,
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
    "first": _first,
    "last": _last,
    "cel.@mapInsert": _map_insert,
    "type": _type,
    "dyn": _identity,
}

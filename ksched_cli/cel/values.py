"""The values of CEL expressions over devices, and how they are compared and added.

CEL's int, double, bool, string, bytes, null, list and map are Python's int, float, bool, str,
bytes, None, list and dict; the rest is here.

Upstream: cel-go/common/types, k8s.io/apiserver/pkg/cel (quantity.go, semver.go),
github.com/blang/semver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct

from ksched_cli.kube.int64 import MAX_INT64, MAX_UINT64, MIN_INT64
from ksched_cli.kube.quantity import Quantity

_DIGITS = frozenset("0123456789")
_ALPHANUMERIC = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


class CelError(Exception):
    """An evaluation error, which `&&` and `||` may absorb."""


class CelUnavailableError(Exception):
    """A library cannot be loaded on this machine."""


class CelAbortError(Exception):
    """An error that ends the whole evaluation; no operator absorbs it."""


class Uint(int):
    """CEL's unsigned integer."""

    __slots__ = ()


class Duration(Struct, frozen=True, order=True):
    nanoseconds: int


class Timestamp(Struct, frozen=True, eq=False):
    """nanoseconds: since 1970. zone: in minutes, as it was written."""

    nanoseconds: int
    zone: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanoseconds < other.nanoseconds

    def __gt__(self, other: Timestamp) -> bool:
        return self.nanoseconds > other.nanoseconds


class TypeName(Struct, frozen=True):
    """The value of `type(x)`."""

    name: str


class Optional(Struct, frozen=True):
    """CEL's optional value. Upstream: types.Optional."""

    present: bool
    value: Any = None


NONE = Optional(False)


class DomainMap(dict[str, dict[str, Any]]):
    """The attributes or capacities of a device, by domain. Looking up an absent domain gives an
    empty map; `in`, `size` and comprehensions see only the domains present.

    Upstream: dynamic-resource-allocation/cel/compile.go (newStringInterfaceMapWithDefault).
    """

    __slots__ = ()


class AttributeMap(dict[str, Any]):
    """The attributes of one domain. An attribute whose value cannot be read is UNREADABLE: it is
    not in the map, and counts in its size."""

    __slots__ = ()

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) and dict.get(self, cast("str", key)) is not UNREADABLE


UNREADABLE = object()


class QuantitySum(Quantity):
    """The result of `add` and `sub`. Upstream stores it in another form, and nothing equals it."""

    __slots__ = ()

    @classmethod
    def of(cls, amount: Quantity) -> QuantitySum:
        return cls(amount.unscaled, amount.scale, amount.form, amount.wide)


class Semver(Struct, frozen=True, eq=False):
    """pre_release: each part as a sortable pair; build metadata never counts: only the text has
    it."""

    major: int
    minor: int
    patch: int
    pre_release: tuple[tuple[bool, int | str], ...] = ()
    text: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.order() == other.order()

    def __hash__(self) -> int:
        return hash(self.order())

    def __str__(self) -> str:
        return self.text

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, text: str) -> Semver:
        """Parse a version. Raises CelError."""
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise CelError("No Major.Minor.Patch elements found")
        major, minor, rest = parts
        rest, plus, build = rest.partition("+")
        if plus and not all(part and _ALPHANUMERIC.issuperset(part) for part in build.split(".")):
            raise CelError(f'Invalid build meta data "{build}"')
        patch, dash, pre = rest.partition("-")
        pre_release = tuple(map(_pre_release, pre.split("."))) if dash else ()
        numbers = _version_number(major), _version_number(minor), _version_number(patch)
        return cls(*numbers, pre_release, text)

    def order(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int | str], ...]]:
        """A release goes after its pre-releases; a shorter pre-release before a longer one."""
        return self.major, self.minor, self.patch, not self.pre_release, self.pre_release


def _version_number(text: str) -> int:
    if not text or not _DIGITS.issuperset(text) or (len(text) > 1 and text[0] == "0"):
        raise CelError(f'Invalid number "{text}" in version')
    if len(text) > len(str(MAX_UINT64)) or int(text) > MAX_UINT64:
        raise CelError(f"value out of range: {text}")
    return int(text)


def _pre_release(text: str) -> tuple[bool, int | str]:
    """Numeric identifiers sort before alphanumeric ones."""
    if _DIGITS.issuperset(text):
        return False, _version_number(text)
    if not _ALPHANUMERIC.issuperset(text):
        raise CelError(f'Invalid character(s) found in prerelease "{text}"')
    return True, text


def normalized_semver(text: str) -> str:
    """Without a leading v and leading zeros, with minor and patch. Raises CelError.

    Upstream: apiserver/pkg/cel/library/semverlib.go (normalizeAndParse).
    """
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped and stripped[0] in _DIGITS else f"0{stripped}"
    if len(parts) < 3 and set("+-") & set(parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join((*parts, "0", "0")[:3])


def type_name(value: object) -> str:
    """As cel-go names a value's type."""
    if isinstance(value, TypeName):
        return "type"
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    DomainMap: "map",
    AttributeMap: "map",
    type(None): "null_type",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    QuantitySum: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
}
_NUMBERS = (int, Uint, float)
_CEL_TYPES = (bool, str, bytes, Timestamp, Duration, TypeName)


def no_overload(function: str, *arguments: object) -> CelError:
    kinds = ", ".join(map(type_name, arguments))
    return CelError(f"no such overload: {function}({kinds})")


def equal(left: Any, right: Any) -> bool:
    """Values of different types are not equal; a quantity or version compared with another type is
    an error. Raises CelError."""
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and left == right
    if kind is list:
        same = type(right) is list and len(left) == len(right)
        return same and all(_element_equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        return all(key in right and _element_equal(left[key], right[key]) for key in left)
    if isinstance(left, Quantity | Semver):
        return _objects_equal(left, right)
    if kind is Optional:
        both = type(right) is Optional and left.present == right.present
        return both and (not left.present or equal(left.value, right.value))
    if kind is type(right):
        return left == right
    if kind in _CEL_TYPES:
        return False
    # Kubernetes's own types (IP, CIDR) do not compare with any other type.
    raise no_overload("_==_", left, right)


def _objects_equal(left: Quantity | Semver, right: object) -> bool:
    if isinstance(left, Quantity) and type(right) is Quantity:
        return left == right
    if isinstance(left, Semver) and isinstance(right, Semver):
        return left.order() == right.order()
    raise no_overload("_==_", left, right)


def _element_equal(left: Any, right: Any) -> bool:
    """Inside lists and maps upstream treats values that cannot be compared as equal."""
    try:
        return equal(left, right)
    except CelError:
        return True


def is_equal(left: Any, right: Any) -> bool:
    """As `equal`, but values that cannot be compared are not equal."""
    try:
        return equal(left, right)
    except CelError:
        return False


def contains(values: Sequence[Any], searched: Any) -> bool:
    """Return whether a list contains the value."""
    return any(is_equal(searched, value) for value in values)


def compare(function: str, left: Any, right: Any) -> int:
    """-1, 0 or 1. Raises CelError for unordered values, and for different types."""
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        if math.isnan(left) or math.isnan(right):
            raise CelError("NaN values cannot be ordered")
        return (left > right) - (left < right)
    if type(left) is type(right) and isinstance(left, str | bytes | bool | Timestamp | Duration):
        return (left > right) - (left < right)
    raise no_overload(function, left, right)


def order(left: Any, right: Any, function: str) -> int:
    """-1, 0 or 1 of two quantities or two versions. Raises CelError."""
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return (left > right) - (left < right)
    if isinstance(left, Semver) and isinstance(right, Semver):
        return (left.order() > right.order()) - (left.order() < right.order())
    raise no_overload(function, left, right)


def checked_int(value: int, kind: type) -> int:
    """Return the result of an operation on integers. Raises CelError where it does not fit."""
    if kind is Uint:
        if not 0 <= value <= MAX_UINT64:
            raise CelError("unsigned integer overflow")
        return Uint(value)
    if not MIN_INT64 <= value <= MAX_INT64:
        raise CelError("integer overflow")
    return value


def add(left: Any, right: Any) -> Any:
    """Add two values of one type. Raises CelError."""
    if type(left) is not type(right):
        raise no_overload("_+_", left, right)
    if isinstance(left, int) and not isinstance(left, bool):
        return checked_int(int(left) + int(right), type(left))
    if isinstance(left, float | str | bytes | list):
        return left + right
    raise no_overload("_+_", left, right)


def size(value: Any) -> int:
    """Return the length; of a string in characters. Raises CelError."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_overload("size", value)


def text(function: str, value: Any) -> str:
    """Return the value, if it is a string. Raises CelError otherwise. function: for the message."""
    if not isinstance(value, str):
        raise no_overload(function, value)
    return value

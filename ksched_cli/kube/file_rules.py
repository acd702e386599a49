"""Rules between the keys of an object in a file: constraints that JSON Schema has and msgspec has
not. A rule checks an object, and is a part of the object's JSON Schema.

    RULES: ClassVar = (SingleKey(("like", "template")),)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

_TYPES = {bool: "boolean", int: "integer"}


class SingleKey(tuple[str, ...]):
    """Exactly one of these keys is given."""

    __slots__ = ()

    def holds(self, given: Collection[str], _part: Struct) -> bool:
        return sum(key in given for key in self) == 1

    def keywords(self, _keys: Collection[str]) -> dict[str, Any]:
        return {"oneOf": [{"required": [key]} for key in self]}


class AnyKey(tuple[str, ...]):
    """At least one of these keys is given."""

    __slots__ = ()

    def holds(self, given: Collection[str], _part: Struct) -> bool:
        return any(key in given for key in self)

    def keywords(self, _keys: Collection[str]) -> dict[str, Any]:
        return {"anyOf": [{"required": [key]} for key in self]}


class Requires(dict[str, str]):
    """A key is given only together with another one."""

    def holds(self, given: Collection[str], _part: Struct) -> bool:
        return all(other in given for key, other in self.items() if key in given)

    def keywords(self, _keys: Collection[str]) -> dict[str, Any]:
        return {"dependentRequired": {key: [other] for key, other in self.items()}}


class KeyCount(NamedTuple):
    """The number of keys that are given. most: 0 for no limit"""

    least: int
    most: int = 0

    def holds(self, given: Collection[str], _part: Struct) -> bool:
        return self.least <= len(given) <= (self.most or len(given))

    def keywords(self, _keys: Collection[str]) -> dict[str, Any]:
        most = {"maxProperties": self.most} if self.most else {}
        return {"minProperties": self.least} | most


class Unique(NamedTuple):
    """The list of a key has no item twice. The key is the field's name, too."""

    key: str

    def holds(self, _given: Collection[str], part: Struct) -> bool:
        items = getattr(part, self.key)
        return len(set(items)) == len(items)

    def keywords(self, _keys: Collection[str]) -> dict[str, Any]:
        return {"properties": {self.key: {"uniqueItems": True}}}


class Shape(NamedTuple):
    """The keys of one form of an object. values: the type or the only value of some of them, where
    the form allows less than the type of the field"""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    values: Mapping[str, Any] = {}

    def fits(self, given: Collection[str], part: Struct) -> bool:
        return (
            all(key in given for key in self.required)
            and all(key in self.required or key in self.optional for key in given)
            and all(
                type(getattr(part, key)) is value
                if value in _TYPES
                else getattr(part, key) is value
                for key, value in self.values.items()
            )
        )

    def keywords(self, keys: Collection[str]) -> dict[str, Any]:
        allowed = {*self.required, *self.optional}
        narrower = {
            key: {"type": _TYPES[value]} if value in _TYPES else {"const": value}
            for key, value in self.values.items()
        }
        others = {key: False for key in keys if key not in allowed}
        return {"required": list(self.required), "properties": narrower | others}


class Shapes(tuple[Shape, ...]):
    """The object has one of these forms."""

    __slots__ = ()

    def holds(self, given: Collection[str], part: Struct) -> bool:
        return any(shape.fits(given, part) for shape in self)

    def keywords(self, keys: Collection[str]) -> dict[str, Any]:
        return {"anyOf": [shape.keywords(keys) for shape in self]}

"""Trees of CEL expressions, as cel/parser.py makes them and cel/checker.py completes them.

Upstream: cel-go/common/ast. Macros such as `exists` and `map` are already expanded into
comprehensions.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class _Node(Struct, frozen=True, kw_only=True):
    """offset: where it stands in the expression."""

    offset: int = -1


class Constant(_Node, frozen=True):
    value: object


class Identifier(_Node, frozen=True):
    """name: qualified, as in `device.driver`. is_type: it denotes a type, such as `int`."""

    name: str
    is_type: bool = False


class Select(_Node, frozen=True):
    """test_only: `has(operand.field)`."""

    operand: Expr
    field: str
    test_only: bool


class CallExpression(_Node, frozen=True):
    """arguments: the target of a member call first. overloads: the ids that the types allow."""

    function: str
    arguments: tuple[Expr, ...]
    is_member: bool
    overloads: tuple[str, ...] = ()


class ListLiteral(_Node, frozen=True):
    """optional: the indices of `?element`."""

    elements: tuple[Expr, ...]
    optional: frozenset[int]


class MapEntry(Struct, frozen=True):
    key: Expr
    value: Expr
    optional: bool


class MapLiteral(_Node, frozen=True):
    entries: tuple[MapEntry, ...]


class Comprehension(_Node, frozen=True):
    """second_variable: "" if there is only one. The accumulator starts as `start`."""

    variable: str
    second_variable: str
    over: Expr
    accumulator: str
    start: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = (
    Constant | Identifier | Select | CallExpression | ListLiteral | MapLiteral | Comprehension
)


class CheckedExpression(Struct, frozen=True):
    """result_type: as cel-go writes it."""

    root: Expr
    result_type: str


def children(node: Expr) -> tuple[Expr, ...]:
    """Return a node's direct children."""
    match node:
        case Select():
            return (node.operand,)
        case CallExpression():
            return node.arguments
        case ListLiteral():
            return node.elements
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
        case _:
            return ()

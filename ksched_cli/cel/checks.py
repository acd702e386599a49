"""What else must be true of a type-checked expression before it may run.

Upstream: dynamic-resource-allocation/cel/compile.go (CompileCELExpression), cel-go/cel/validator.go
(the literal validators of apiserver/pkg/cel/environment/base.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.cel.environment import DEVICE, CelCompileError, library_call
from ksched_cli.cel.syntax import (
    Call,
    CheckedExpression,
    Constant,
    Expr,
    Identifier,
    ListLiteral,
    MapLiteral,
    Select,
    children,
)
from ksched_cli.cel.values import CelError

# Function → which argument must be right if it is a constant, the target of a member call first.
_LITERALS = {"matches": 1, "duration": 0, "timestamp": 0}
_MIXED_LISTS_ALLOWED = "format"
_OF_ANY_TYPE = ("dyn", "any")


def check_literals(checked: CheckedExpression) -> None:
    """Raises CelCompileError."""
    for problem in _problems(checked.root, False):
        raise CelCompileError(f"compilation failed: {problem}")
    if checked.result_type not in ("bool", "any"):
        raise CelCompileError(
            f"must evaluate to bool or the unknown type, not {checked.result_type}"
        )


def _problems(node: Expr, mixed_allowed: bool) -> Iterator[str]:
    match node:
        case Select(operand=Identifier(name=name), field=field) if name == DEVICE:
            yield f"undefined field '{field}'"
        case Call():
            yield from _literal_problems(node)
            yield from _search_problems(node)
            mixed_allowed = mixed_allowed or node.function == _MIXED_LISTS_ALLOWED
        case ListLiteral() if not mixed_allowed and len(set(node.types)) > 1:
            yield "a list's elements must all be of one type"
        case MapLiteral() if not mixed_allowed and len({one.types for one in node.entries}) > 1:
            yield "a map's keys must all be of one type, and so must its values"
    for child in children(node):
        yield from _problems(child, mixed_allowed)


def _literal_problems(node: Call) -> Iterator[str]:
    place = _LITERALS.get(node.function)
    if place is None or len(node.arguments) <= place:
        return
    literal = node.arguments[place]
    if not isinstance(literal, Constant):
        return
    arguments = ["", literal.value] if place else [literal.value]
    try:
        library_call(node.function, arguments, node.is_member)
    except CelError:
        yield f"invalid {node.function} argument"


def _search_problems(node: Call) -> Iterator[str]:
    """A list is searched for what it can have."""
    if node.function not in ("indexOf", "lastIndexOf") or not node.types[0].startswith("list("):
        return
    element, wanted = node.types[0][5:-1], node.types[1]
    if element != wanted and not any(word in element + wanted for word in _OF_ANY_TYPE):
        yield f"found no matching overload for '{node.function}' applied to '{node.types}'"

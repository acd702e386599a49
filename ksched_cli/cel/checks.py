"""Checks that upstream's compiler makes on a type-checked expression before it is planned.

Upstream: dynamic-resource-allocation/cel/compile.go (CompileCELExpression), cel-go/cel/validator.go
(the literal validators of apiserver/pkg/cel/environment/base.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.cel.environment import DEVICE, CelCompileError, library_call
from ksched_cli.cel.functions.regex import PATTERN_INDEX, RegexError, compiled
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

# Function → the index of the argument that must be valid if it is a literal; the target of a member
# call is argument 0.
_LITERAL_ARGUMENT = {"matches": PATTERN_INDEX, "duration": 0, "timestamp": 0}
_MIXED_LISTS_ALLOWED = "format"
_DYNAMIC_TYPES = ("dyn", "any")


def check_literals(checked: CheckedExpression, unknown_type: str = "dyn") -> None:
    """Checks literals and the result type, bool or that of attributes. Raises CelCompileError for
    the first error."""
    for problem in _problems(checked.root, False):
        raise CelCompileError(f"compilation failed: {problem}")
    if checked.result_type not in ("bool", unknown_type):
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
        case MapLiteral() if not mixed_allowed and len({entry.types for entry in node.entries}) > 1:
            yield "a map's keys must all be of one type, and so must its values"
    for child in children(node):
        yield from _problems(child, mixed_allowed)


def _literal_problems(node: Call) -> Iterator[str]:
    index = _LITERAL_ARGUMENT.get(node.function)
    if index is None or len(node.arguments) <= index:
        return
    literal = node.arguments[index]
    if not isinstance(literal, Constant):
        return
    try:
        if index:
            compiled(str(literal.value))
        else:
            library_call(node.function, [literal.value], node.is_member)
    except (CelError, RegexError):
        yield f"invalid {node.function} argument"


def _search_problems(node: Call) -> Iterator[str]:
    """The element searched for must have the list's element type."""
    if node.function not in ("indexOf", "lastIndexOf") or not node.types[0].startswith("list("):
        return
    element, searched = node.types[0][5:-1], node.types[1]
    if element != searched and not any(word in element + searched for word in _DYNAMIC_TYPES):
        yield f"found no matching overload for '{node.function}' applied to '{node.types}'"

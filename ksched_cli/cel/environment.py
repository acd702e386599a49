"""Compiles CEL expressions of device selectors as far as their types: parses and checks them.

Upstream: dynamic-resource-allocation/cel/compile.go, apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.cel.checker import check_types
from ksched_cli.cel.parser import CelSyntaxError, parse
from ksched_cli.cel.syntax import CheckedExpression

# Frames of the greatest nesting that the parser takes, when it is planned and evaluated.
_FRAMES = 10_000
# Beyond, cel-go counts errors, and does not show where in the line they are.
_MAX_ERRORS, _MAX_LINE = 100, 16_384


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let functions nest as deeply as expressions may."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class CelCompileError(Exception):
    """An expression that does not parse, type-check or compile."""


def check(expression: str, reads_lists: bool = True) -> CheckedExpression:
    """Parse and type-check an expression. Raises CelCompileError.

    reads_lists: attributes may be lists, and `includes` is known (kube.versions, Rules)

    Expressions of stored objects may use whatever a feature gate would add to a device, on or off.
    Upstream: apiserver/pkg/cel/environment (StoredExpressions).
    """
    try:
        with deep_recursion():
            checked, problems = check_types(parse(expression), reads_lists)
    except CelSyntaxError as error:
        checked, problems = None, [(error.offset, str(error))]
    if checked is not None:
        return checked
    # Offsets and messages of the first problems, in the order of the text.
    reported = sorted(problems[:_MAX_ERRORS], key=lambda problem: problem[0])
    shown = [_shown(expression, *problem) for problem in reported]
    if len(problems) > _MAX_ERRORS:
        shown.append(f"{len(problems) - _MAX_ERRORS} more errors were truncated")
    raise CelCompileError("compilation failed: " + "\n".join(shown))


def _shown(expression: str, offset: int, message: str) -> str:
    """Return the message with its place, as cel-go writes it."""
    if offset < 0:
        return f"ERROR: <input>:-1:0: {message}"
    start = expression.rfind("\n", 0, offset) + 1
    line = expression[start:].partition("\n")[0]
    place = f"{expression.count(chr(10), 0, offset) + 1}:{offset - start + 1}"
    shown = f"ERROR: <input>:{place}: {message}"
    if len(line.encode()) > _MAX_LINE:
        return shown
    dots = "".join("." if character < "\x80" else "\uff0e" for character in line[: offset - start])
    caret = "\uff3e" if line[offset - start :][:1] >= "\x80" else "^"
    return f"{shown}\n | {line.replace(chr(9), ' ')}\n | {dots}{caret}"


def check_result(checked: CheckedExpression, unknown_type: str = "dyn") -> None:
    """The result's type must be bool or that of attributes. Raises CelCompileError."""
    if checked.result_type not in ("bool", unknown_type):
        kind = checked.result_type
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {kind}")

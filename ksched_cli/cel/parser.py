"""Parses CEL expressions into trees that are not checked yet; macros are expanded.

Upstream: cel-go/parser (gen/CEL.g4, parser.go, macro.go, unescape.go), cel-go/cel/library.go
(optMap, optFlatMap), cel-go/ext (bindings.go, comprehensions.go, lists.go: sortBy).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NoReturn

from ksched_cli.cel.syntax import (
    CallExpression,
    Comprehension,
    Constant,
    Expr,
    Identifier,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Select,
)
from ksched_cli.cel.values import Uint
from ksched_cli.kube.int64 import MAX_INT64, MAX_UINT64, MIN_INT64

MAX_SIZE = 100_000
MAX_DEPTH = 250
ACCUMULATOR = "@result"
_UNUSED = "#unused"
_SORTED = "@__sortBy_input__"
_END = "<EOF>"

_ESCAPE = (
    r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
)
_QUOTED = "|".join(
    [
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    ]
)
_RAW = r"""[rR](?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')"""
_SPECIAL = re.compile(r"\\(?:([xX])(..)|u(....)|U(.{8})|([0-3]..)|(.))", re.DOTALL)
_CHARACTERS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_RESERVED = frozenset(
    """as break const continue else false for function if import in let loop package namespace null
    return true var void while""".split()  # noqa: SIM905
)
_LITERALS = {"true": True, "false": False, "null": None}
# Digits of the greatest number, in any base.
_MAX_DIGITS = 20
_MESSAGE = re.compile(r"([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)\s*\{", re.ASCII)
_KEYWORDS = frozenset((*_LITERALS, "in"))
_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
_LOGICAL = ("||", "&&")
_PRECEDENCE = {
    **{symbol: index - 1 for index, symbol in enumerate(_LOGICAL)},
    **dict.fromkeys(_RELATIONS, 1),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys("*/%", 3),
}


class CelSyntaxError(Exception):
    """offset: where in the expression; -1: nowhere."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def parse(expression: str) -> Expr:
    """Parse an expression. Raises CelSyntaxError."""
    if len(expression) > MAX_SIZE:
        size = f"size: {len(expression)}, limit {MAX_SIZE}"
        raise CelSyntaxError(-1, f"expression code point size exceeds limit: {size}")
    parser = _Parser(expression)
    root = parser.expression()
    if parser.kind != _END:
        parser.fail("'<EOF>'")
    return root


@cache
def _token() -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<space>(?:[\t \r\n\f]|//[^\n]*)+)
        |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
        |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
        |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
        |(?P<bytes>[bB](?:{_RAW}|{_QUOTED}))
        |(?P<string>{_RAW}|{_QUOTED})
        |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
        |(?P<escaped>`[A-Za-z0-9_.\-/\ ]+`)
        |(?P<symbol>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
        """.replace('"""', '"{3}'),
        re.DOTALL | re.VERBOSE,
    )


class _Parser:
    """Recursive descent. kind, lexeme, offset: of the next token. depth: how deeply operators,
    fields and calls lie in each other below the node that was read last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._match = _token().match
        self._end = self.depth = 0
        # How deeply the grammar's rules lie in each other: expressions; right operands of
        # comparisons and of sums and products.
        self._nesting = self._comparing = self._summing = 0
        self.kind = self.lexeme = ""
        self.advance()

    def advance(self) -> str:
        """Go to the next token. Return the one before."""
        before = self.lexeme
        while True:
            self.offset = self._end
            if self._end == len(self._text):
                self.kind = self.lexeme = _END
                return before
            match = self._match(self._text, self._end)
            if match is None:
                character = self._text[self._end]
                message = f"Syntax error: token recognition error at: '{character}'"
                raise CelSyntaxError(self._end, message)
            self._end = match.end()
            self.kind, self.lexeme = str(match.lastgroup), match.group()
            if self.kind == "name" and self.lexeme in _KEYWORDS:
                self.kind = "symbol"
            if self.kind != "space":
                return before

    def fail(self, expected: str) -> NoReturn:
        message = f"Syntax error: mismatched input '{self.lexeme}' expecting {expected}"
        raise CelSyntaxError(self.offset, message)

    def _is(self, symbol: str) -> bool:
        return self.lexeme == symbol and self.kind == "symbol"

    def _takes(self, symbol: str) -> bool:
        """Return whether this is the next token, which is passed then."""
        taken = self._is(symbol)
        if taken:
            self.advance()
        return taken

    def _expect(self, symbol: str) -> None:
        if not self._takes(symbol):
            self.fail(f"'{symbol}'")

    def _check_nesting(self) -> None:
        if self._nesting + max(self._comparing, self._summing) > MAX_DEPTH:
            raise CelSyntaxError(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")

    def _deepen(self, *depths: int) -> None:
        self.depth = max((self.depth, *depths)) + 1
        if self.depth > MAX_DEPTH:
            raise CelSyntaxError(-1, "max recursion depth exceeded")

    # -- operators ---------------------------------------------------------------------------------

    def expression(self) -> Expr:
        self._nesting += 1
        self._check_nesting()
        node = self._binary(-1)
        if self._is("?"):
            first, offset = self.depth, self.offset
            self.advance()
            then, second = self._binary(-1), self.depth
            self._expect(":")
            otherwise = self.expression()
            node = _call(offset, "_?_:_", node, then, otherwise)
            self._deepen(first, second)
        self._nesting -= 1
        return node

    def _binary(self, precedence: int) -> Expr:
        node, chain = self._unary(), ""
        terms: list[Expr] = []
        offsets: list[int] = []
        while self.kind == "symbol" and _PRECEDENCE.get(self.lexeme, -2) >= precedence:
            symbol, offset, depth = self.lexeme, self.offset, self.depth
            if chain and symbol != chain:
                node, terms, offsets = _balanced(chain, [*terms, node], offsets), [], []
            self.advance()
            own = _PRECEDENCE[symbol]
            is_comparison, is_sum = own == 1, own > 1
            self._comparing += is_comparison
            self._summing += is_sum
            self._check_nesting()
            right = self._binary(own + 1)
            self._comparing -= is_comparison
            self._summing -= is_sum
            chain = symbol if symbol in _LOGICAL else ""
            if chain:
                terms.append(node)
                offsets.append(offset)
                node, self.depth = right, max(depth, self.depth)
            else:
                node = _call(offset, "@in" if symbol == "in" else f"_{symbol}_", node, right)
                self._deepen(depth)
        return _balanced(chain, [*terms, node], offsets) if chain else node

    def _unary(self) -> Expr:
        if not self._is("!") and not self._is("-"):
            return self._member()
        sign, offset, count = self.lexeme, self.offset, 0
        while self._is(sign):
            self.advance()
            count += 1
        if sign == "-" and count == 1 and self.kind in ("int", "float"):
            return self._member(self._literal(offset, "-"))
        if sign == "!" or not self._is("-"):
            node = self._member()
            return _call(offset, f"{sign}_", node) if count % 2 else node
        return self.fail("an operand")

    def _member(self, node: Expr | None = None) -> Expr:
        """Return an operand, and the fields, elements and calls of it."""
        if node is None:
            node = self._primary()
        while self.kind == "symbol":
            offset, depth = self.offset, self.depth
            if self._takes("["):
                function = "_[?_]" if self._takes("?") else "_[_]"
                node = _call(offset, function, node, self.expression())
                self._expect("]")
                self._deepen(depth)
            elif self._takes("."):
                node = self._field(node, offset, depth)
            else:
                break
        return node

    def _field(self, operand: Expr, offset: int, depth: int) -> Expr:
        is_optional, at = self._takes("?"), self.offset
        if self.kind not in ("name", "escaped"):
            self.fail("IDENTIFIER")
        is_name = self.kind == "name"
        name = self.advance().strip("`")
        if is_optional:
            self._deepen()
            return _call(offset, "_?._", operand, Constant(name, offset=at))
        opening = self.offset
        if not is_name or not self._takes("("):
            self._deepen()
            return Select(operand, name, False, offset=offset)
        arguments = self._arguments()
        self._deepen(depth)
        return _expanded(opening, name, operand, arguments)

    def _arguments(self) -> list[Expr]:
        arguments: list[Expr] = []
        deepest = 0
        if not self._takes(")"):
            while True:
                arguments.append(self.expression())
                deepest = max(deepest, self.depth)
                if not self._takes(","):
                    break
            self._expect(")")
        self.depth = deepest
        return arguments

    # -- operands ----------------------------------------------------------------------------------

    def _primary(self) -> Expr:
        offset = self.offset
        self.depth = 0
        if self.kind == "name" or self._is("."):
            return self._named(offset)
        if self.kind != "symbol":
            return self._literal(offset)
        if self.lexeme in _LITERALS:
            return Constant(_LITERALS[self.advance()], offset=offset)
        if self._takes("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._takes("["):
            return self._list(offset)
        if self._takes("{"):
            return self._map(offset)
        if self._takes("-") and self.kind in ("int", "float"):
            return self._literal(offset, "-")
        return self.fail("an operand")

    def _named(self, offset: int) -> Expr:
        """Return a variable, a call or a message."""
        dot = "." if self._takes(".") else ""
        at, name = self.offset, self.lexeme
        if self.kind != "name":
            self.fail("IDENTIFIER")
        if _MESSAGE.match(self._text, at):
            raise CelSyntaxError(at, "messages are not supported")
        self.advance()
        if name in _RESERVED:
            raise CelSyntaxError(offset, f"reserved identifier: {name}")
        opening = self.offset
        if self._takes("("):
            return _expanded(opening, dot + name, None, self._arguments())
        return Identifier(dot + name, offset=at)

    def _list(self, offset: int) -> Expr:
        elements: list[Expr] = []
        optional: list[int] = []
        deepest = 0
        if self._takes(",") and not self._is("]"):
            self.fail("']'")
        while not self._takes("]"):
            if self._takes("?"):
                optional.append(len(elements))
            elements.append(self.expression())
            deepest = max(deepest, self.depth)
            if not self._takes(",") and not self._is("]"):
                self.fail("']'")
        self.depth = deepest
        return ListLiteral(tuple(elements), frozenset(optional), offset=offset)

    def _map(self, offset: int) -> Expr:
        entries: list[MapEntry] = []
        deepest = 0
        if self._takes(",") and not self._is("}"):
            self.fail("'}'")
        while not self._takes("}"):
            is_optional = self._takes("?")
            key, deepest = self.expression(), max(deepest, self.depth)
            self._expect(":")
            value, deepest = self.expression(), max(deepest, self.depth)
            entries.append(MapEntry(key, value, is_optional))
            if not self._takes(",") and not self._is("}"):
                self.fail("'}'")
        self.depth = deepest
        return MapLiteral(tuple(entries), offset=offset)

    def _literal(self, offset: int, sign: str = "") -> Expr:
        kind = self.kind
        if kind not in ("int", "uint", "float", "string", "bytes"):
            self.fail("an operand")
        text = self.advance()
        if kind == "float":
            number = float(sign + text)
            if math.isinf(number):
                raise CelSyntaxError(offset, "invalid double literal")
            return Constant(number, offset=offset)
        if kind in ("int", "uint"):
            return Constant(_integer(offset, kind, sign, text), offset=offset)
        value = _unquoted(offset, text[kind == "bytes" :], kind == "bytes")
        return Constant(value, offset=offset)


def _integer(offset: int, kind: str, sign: str, text: str) -> int:
    digits = text.rstrip("uU").removeprefix("0x").lstrip("0") or "0"
    if len(digits) <= _MAX_DIGITS:
        number = int(sign + digits, 16 if text.startswith("0x") else 10)
        if kind == "uint" and number <= MAX_UINT64:
            return Uint(number)
        if kind == "int" and MIN_INT64 <= number <= MAX_INT64:
            return number
    raise CelSyntaxError(offset, f"invalid {kind} literal")


def _unquoted(offset: int, literal: str, is_bytes: bool) -> str | bytes:
    """Return the value of a literal of text or bytes."""
    text = literal.replace("\r\n", "\n").replace("\r", "\n")
    is_raw = text[0] in "rR"
    text = text[is_raw:]
    quotes = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    text = text[quotes:-quotes]
    if is_raw or "\\" not in text:
        return text.encode() if is_bytes else text
    parts: list[bytes] = []
    end = 0
    for match in _SPECIAL.finditer(text):
        parts.append(text[end : match.start()].encode())
        end = match.end()
        _, byte, short, long, octal, letter = match.groups()
        if letter:
            parts.append(_CHARACTERS.get(letter, letter).encode())
            continue
        if is_bytes and (short or long):
            raise CelSyntaxError(offset, "unable to unescape string")
        code = int(octal, 8) if octal else int(byte or short or long, 16)
        if is_bytes:
            parts.append(bytes([code]))
        elif code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise CelSyntaxError(offset, "invalid unicode code point")
        else:
            parts.append(chr(code).encode())
    value = b"".join(parts) + text[end:].encode()
    return value if is_bytes else value.decode()


def _call(offset: int, function: str, *arguments: Expr) -> CallExpression:
    return CallExpression(function, arguments, False, offset=offset)


def _balanced(symbol: str, terms: Sequence[Expr], offsets: Sequence[int]) -> Expr:
    """A long chain is as shallow as can be. Upstream: logicManager.balancedTree."""
    if not offsets:
        return terms[0]
    middle = len(offsets) // 2
    left = _balanced(symbol, terms[: middle + 1], offsets[:middle])
    right = _balanced(symbol, terms[middle + 1 :], offsets[middle + 1 :])
    return _call(offsets[middle], f"_{symbol}_", left, right)


# -- macros ----------------------------------------------------------------------------------------


def _expanded(offset: int, name: str, target: Expr | None, arguments: Sequence[Expr]) -> Expr:
    """Return a call, or what the macro of this name makes of it."""
    if target is None:
        if name == "has" and len(arguments) == 1:
            select = arguments[0]
            if not isinstance(select, Select):
                raise CelSyntaxError(select.offset, "invalid argument to has() macro")
            return Select(select.operand, select.field, True, offset=offset)
        return _call(offset, name, *arguments)
    macro = _MACROS.get((name, len(arguments)))
    node = macro(_Maker(offset), target, arguments) if macro else None
    return node or CallExpression(name, (target, *arguments), True, offset=offset)


class _Maker:
    """Makes the nodes of a macro's expansion."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def name(self, name: str = ACCUMULATOR) -> Identifier:
        return Identifier(name, offset=self.offset)

    def constant(self, value: object) -> Constant:
        return Constant(value, offset=self.offset)

    def call(self, function: str, *arguments: Expr) -> CallExpression:
        return _call(self.offset, function, *arguments)

    def member(self, function: str, *arguments: Expr) -> CallExpression:
        return CallExpression(function, arguments, True, offset=self.offset)

    def list(self, *elements: Expr) -> ListLiteral:
        return ListLiteral(elements, frozenset(), offset=self.offset)

    def fold(
        self,
        over: Expr,
        variables: Sequence[str],
        start: Expr,
        step: Expr,
        condition: Expr | None = None,
        result: Expr | None = None,
    ) -> Comprehension:
        variable, second = (*variables, "")[:2]
        return Comprehension(
            *(variable, second, over, ACCUMULATOR, start),
            *(condition or self.constant(True), step, result or self.name()),
            offset=self.offset,
        )

    def bind(self, name: str, value: Expr, result: Expr) -> Comprehension:
        return Comprehension(
            *(_UNUSED, "", self.list(), name, value),
            *(self.constant(False), self.name(name), result),
            offset=self.offset,
        )


Macro = Callable[[_Maker, Expr, Sequence[Expr]], Expr | None]


def _variables(
    arguments: Sequence[Expr], problem: str = "argument must be a simple name"
) -> list[str]:
    names: list[str] = []
    for argument in arguments:
        if not isinstance(argument, Identifier):
            raise CelSyntaxError(argument.offset, problem)
        names.append(argument.name)
    for argument, name in zip(arguments, names, strict=True):
        if name == "__result__":
            message = "iteration variable overwrites accumulator variable"
            raise CelSyntaxError(argument.offset, message)
    if len(names) == 2 and names[0] == names[1]:
        raise CelSyntaxError(arguments[1].offset, f"duplicate variable name: {names[0]}")
    return names


def _quantifier(count: int, kind: str) -> Macro:
    """count: of variables"""

    def expand(make: _Maker, target: Expr, arguments: Sequence[Expr]) -> Expr:
        names, holds = _variables(arguments[:count]), arguments[count]
        if kind == "all":
            start, step = make.constant(True), make.call("_&&_", make.name(), holds)
            goes_on = make.call("@not_strictly_false", make.name())
            return make.fold(target, names, start, step, goes_on)
        if kind == "exists":
            start, step = make.constant(False), make.call("_||_", make.name(), holds)
            goes_on = make.call("@not_strictly_false", make.call("!_", make.name()))
            return make.fold(target, names, start, step, goes_on)
        more = make.call("_+_", make.name(), make.constant(1))
        step = make.call("_?_:_", holds, more, make.name())
        result = make.call("_==_", make.name(), make.constant(1))
        return make.fold(target, names, make.constant(0), step, None, result)

    return expand


def _transform(count: int, kind: str) -> Macro:
    """count: of variables. kind: list, map or entry; filter: the elements themselves"""

    def expand(make: _Maker, target: Expr, arguments: Sequence[Expr]) -> Expr:
        problem = (
            "argument is not an identifier" if count == 1 else "argument must be a simple name"
        )
        names = _variables(arguments[:count], problem)
        *conditions, value = arguments[count:]
        start: Expr = make.list()
        if kind == "filter":
            conditions, value = [value], arguments[0]
        if kind in ("map", "entry"):
            start = MapLiteral((), offset=make.offset)
            pair = (make.name(names[0]), value) if kind == "map" else (value,)
            step = make.call("cel.@mapInsert", make.name(), *pair)
        else:
            step = make.call("_+_", make.name(), make.list(value))
        for condition in conditions:
            step = make.call("_?_:_", condition, step, make.name())
        return make.fold(target, names, start, step)

    return expand


def _bind(make: _Maker, target: Expr, arguments: Sequence[Expr]) -> Expr | None:
    if not isinstance(target, Identifier) or target.name != "cel":
        return None
    problem = "cel.bind() variable names must be simple identifiers"
    variable, value, result = arguments
    if not isinstance(variable, Identifier):
        raise CelSyntaxError(variable.offset, problem)
    return make.bind(variable.name, value, result)


def _optional(function: str) -> Macro:
    def expand(make: _Maker, target: Expr, arguments: Sequence[Expr]) -> Expr:
        variable, result = arguments
        if not isinstance(variable, Identifier):
            message = f"{function}() variable name must be a simple identifier"
            raise CelSyntaxError(variable.offset, message)
        value: Expr = make.bind(variable.name, make.member("value", target), result)
        if function == "optMap":
            value = make.call("optional.of", value)
        present = make.member("hasValue", target)
        return make.call("_?_:_", present, value, make.call("optional.none"))

    return expand


def _sort_by(make: _Maker, target: Expr, arguments: Sequence[Expr]) -> Expr:
    if not isinstance(target, ListLiteral | Select | Identifier | Comprehension | CallExpression):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select"
        raise CelSyntaxError(target.offset, f"{message} expression")
    keys = _transform(1, "list")(make, make.name(_SORTED), arguments)
    assert keys is not None
    ordered = make.member("@sortByAssociatedKeys", make.name(_SORTED), keys)
    return make.bind(_SORTED, target, ordered)


# By name and number of arguments.
_MACROS: dict[tuple[str, int], Macro] = {
    **{
        (name, count + 1): _quantifier(count, kind)
        for name, kind in (("all", "all"), ("exists", "exists"), ("exists_one", "one"))
        for count in (1, 2)
    },
    ("existsOne", 3): _quantifier(2, "one"),
    ("map", 2): _transform(1, "list"),
    ("map", 3): _transform(1, "list"),
    ("filter", 2): _transform(1, "filter"),
    **{
        (f"transform{name}", count): _transform(2, kind)
        for name, kind in (("List", "list"), ("Map", "map"), ("MapEntry", "entry"))
        for count in (3, 4)
    },
    ("bind", 3): _bind,
    ("optMap", 2): _optional("optMap"),
    ("optFlatMap", 2): _optional("optFlatMap"),
    ("sortBy", 2): _sort_by,
}

"""
Go's regular expressions are RE2's, with its syntax and the first of the leftmost matches;
Python's `re` knows other classes and takes lookaheads and references.

Upstream: cel-go/common/types/string.go (Match); Go's regexp (FindAllString) and regexp/syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, TypeAlias

from ksched_cli.cel.values import CelError, CelUnavailableError, no_overload, text

Function: TypeAlias = Callable[..., Any]

# For repeated Unicode classes, as `\pL{500}`: RE2's default of 8 MiB has no room for them.
_MEMORY = 32 << 20
# What RE2 says of a pattern that it refuses → what Go says. Both quote the same part of it.
_GO_ERRORS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_TRAILING = "trailing \\"
# RE2 names what it refuses of a lookbehind; Go takes it for the beginning of a name.
_LOOKBEHIND = re.compile(r"\(\?<[=!][^>]*>?")
# What RE2 reads and Go does not: \C, any byte, and names of other letters; outside of quoted text.
_TOKENS = re.compile(r"\\Q.*?(?:\\E|\Z)|(\\C)|\\.|(\(\?P?<\w*[^\w>][^>]*>)", re.DOTALL | re.ASCII)


class RegexError(Exception):
    """A pattern that Go refuses; the text is Go's."""


@cache
def _re2() -> Any:
    try:
        return import_module("re2")
    except ImportError as error:
        raise CelUnavailableError(
            f"find and findAll need the package google-re2, which cannot be loaded: {error}"
        ) from None


@cache
def _options() -> Any:
    options = _re2().Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


@lru_cache(maxsize=16)  # a pattern may take all of its memory
def compiled(pattern: str) -> Any:
    """Return what searches for the pattern in UTF-8. Raises RegexError, CelUnavailableError."""
    library = _re2()
    try:
        program = library.compile(pattern.encode(), _options())
    except library.error as error:
        raise RegexError(_go_error(error.args[0].decode(), pattern)) from None
    for any_byte, name in _TOKENS.findall(pattern):
        if any_byte or name:
            kind = "invalid escape sequence" if any_byte else "invalid named capture"
            raise RegexError(f"error parsing regexp: {kind}: `{any_byte or name}`")
    return program


def _go_error(problem: str, pattern: str) -> str:
    """What Go says of a pattern; problem: what RE2 says."""
    if problem == _TRAILING:
        return "error parsing regexp: trailing backslash at end of expression: ``"
    kind, _, part = problem.partition(": ")
    lookbehind = _LOOKBEHIND.search(pattern) if part in ("(?<=", "(?<!") else None
    if lookbehind is not None:
        kind, part = "invalid named capture", lookbehind.group()
    return f"error parsing regexp: {_GO_ERRORS.get(kind, kind)}: `{part}`"


def _matches(pattern: Any, whole: bytes) -> Iterator[bytes]:
    """Yield all matches in a text of UTF-8, from left to right. One that is empty does not follow
    another at once."""
    begin, last = 0, -1
    while begin <= len(whole):
        match = pattern.search(whole, begin)
        if match is None:
            return
        start, end = match.span()
        if start < len(whole) and _is_continuation(whole[start]):
            begin = start + 1  # RE2 looks for \B within characters, too
            continue
        if start != end or start != last:
            yield whole[start:end]
        last = end
        if end > begin:
            begin = end
            continue
        # The next character begins behind the bytes of this one.
        begin += 1
        while begin < len(whole) and _is_continuation(whole[begin]):
            begin += 1


def _is_continuation(byte: int) -> bool:
    """Return whether a byte is not the first of its character."""
    return byte & 0xC0 == 0x80


def _pattern(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(whole: Any, pattern: Any) -> str:
    matches = _matches(_pattern(text("find", pattern)), text("find", whole).encode())
    return next(matches, b"").decode()


def _find_all(whole: Any, pattern: Any, count: Any = -1) -> list[str]:
    if type(count) is not int:
        raise no_overload("findAll", whole, pattern, count)
    matches = _matches(_pattern(text("findAll", pattern)), text("findAll", whole).encode())
    return [match.decode() for match in islice(matches, None if count < 0 else count)]


def _is_match(whole: Any, pattern: Any) -> bool:
    data = text("matches", whole).encode()
    try:
        program = compiled(text("matches", pattern))
    except RegexError as error:
        raise CelError(str(error)) from None
    return next(_matches(program, data), None) is not None


REGEX: dict[str, Function] = {"find": _find, "findAll": _find_all, "matches": _is_match}
# The argument that is a pattern.
PATTERN_INDEX = 1

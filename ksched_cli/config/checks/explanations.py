"""kube-scheduler's words about a value, in ours: what they mean, and what to write.

Its own words stand beside: a review ends with kube-scheduler's whole message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

import msgspec

from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.tables import read_table
from ksched_cli.kube.field_errors import ErrorType, FieldError
from ksched_cli.kube.near_names import nearest

# From the error, its key and what the pattern matched to message and hint.
_Explain: TypeAlias = Callable[[FieldError, str, re.Match[str]], tuple[str, str]]

_RANGE = re.compile(r"not in valid range (?P<open>[\[(])(?P<least>\d+)(?:, |-)(?P<most>\w+)[\])]")


class _Text(msgspec.Struct, frozen=True):
    pattern: str
    message: str
    hint: str = ""


class _ExplanationTables(msgspec.Struct, frozen=True):
    """explanations.yaml, whose comments say what each table is."""

    texts: tuple[_Text, ...]
    left_out: Mapping[str, str]
    missing: Mapping[str, str]


@cache
def _tables() -> _ExplanationTables:
    return read_table(__file__, _ExplanationTables)


def explanation(error: FieldError, key: str) -> tuple[str, str]:
    """Message and hint. key: the last step of the error's path"""
    if not error.path:  # args as a whole: the plugin says which field it means
        return _BY_TYPE[error.type](error, key)
    for pattern, explain in _WORDED_ANEW:
        if match := re.search(pattern, error.detail):
            return explain(error, key, match)
    for text in _tables().texts:
        if re.search(text.pattern, error.detail):
            values = {"key": key, "value": error.value}
            return text.message.format(**values), text.hint.format(**values) or _left_out(key)
    return _BY_TYPE[error.type](error, key)


def _left_out(key: str) -> str:
    left_out = _tables().left_out.get(key)
    return f"leave it out for {left_out}" if left_out else ""


def _range(error: FieldError, key: str, match: re.Match[str]) -> tuple[str, str]:
    least, most = match["least"], match["most"]
    if match["open"] == "(":
        bounds = f"more than {least}" + ("" if most == "inf" else f" and at most {most}")
    else:
        bounds = f"at least {least}" if most == "inf" else f"from {least} to {most}"
    return f"{key} is {error.value}, and must be {bounds}", _left_out(key)


def _removed(error: FieldError, key: str, match: re.Match[str]) -> tuple[str, str]:
    name = error.value.strip('"')
    return f"v1 has no plugin {name}", name_tables().removed_plugins.get(name, "remove it")


_WORDED_ANEW: tuple[tuple[str, _Explain], ...] = (
    (_RANGE.pattern, _range),
    ('was invalid in version "v1"', _removed),
)


def _invalid(error: FieldError, key: str) -> tuple[str, str]:
    detail = error.detail if error.detail.startswith("not ") else f"not valid: {error.detail}"
    return f"{key}: {error.value} is {detail}", ""


def _missing(error: FieldError, key: str) -> tuple[str, str]:
    if key == "schedulerName":
        return (
            "the profile has no schedulerName",
            "add one; with several profiles, each requires its own name",
        )
    return f"{key} is missing", _tables().missing.get(key, error.detail)


def _twice(error: FieldError, key: str) -> tuple[str, str]:
    if key == "schedulerName":
        return "another profile already has this schedulerName", "give each its own"
    return f"{error.value} appears twice", "keep one of them"


def _forbidden(error: FieldError, key: str) -> tuple[str, str]:
    return f"{key} is not allowed here: {error.detail}", "remove it"


def _unsupported(error: FieldError, key: str) -> tuple[str, str]:
    options = [item.strip('"') for item in error.detail.partition(": ")[2].split(", ")]
    near = nearest(error.value.strip('"'), options)
    hint = f'did you mean "{near}"?' if near else f"write one of {', '.join(options)}"
    return f"{key} cannot be {error.value}", hint


_BY_TYPE: Mapping[ErrorType, Callable[[FieldError, str], tuple[str, str]]] = {
    ErrorType.INVALID: _invalid,
    ErrorType.REQUIRED: _missing,
    ErrorType.DUPLICATE: _twice,
    ErrorType.FORBIDDEN: _forbidden,
    ErrorType.UNSUPPORTED: _unsupported,
}

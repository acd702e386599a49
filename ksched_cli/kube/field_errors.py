"""Errors about a field of an object, and the rules for names of labels and resources.

Upstream: apimachinery/pkg/util/validation/field/errors.go and util/validation/validation.go,
core/v1/helper (IsExtendedResourceName).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.kube.formatting import float_text, json_text, quote

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME})?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character"
)
_NAME_ERROR = (
    f"{_NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc',"
    f" regex used for validation is '{_NAME}')"
)
_VALUE_ERROR = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    f"  or '12345', regex used for validation is '{_LABEL_VALUE}')"
)
_SUBDOMAIN_ERROR = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com',"
    f" regex used for validation is '{_SUBDOMAIN}')"
)
# How a name with too many slashes is described, since 1.35 and before.
_LABEL_KEY, _QUALIFIED_NAME = "a valid label key", "a qualified name"
_QUOTA_PREFIX = "requests."
# The rules of FieldErrors about names, and about bounds, which are its value in words.
NAME, RANGE = "name", "range"
_NATIVE_DOMAIN = "kubernetes.io/"


class ErrorType(StrEnum):
    """field.ErrorType, as it is printed."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    UNSUPPORTED = "Unsupported value"


class FieldError(Struct, frozen=True):
    """field.Error.

    value:  the bad value as text, "" for types of error that name no value
    detail: upstream's words
    rule:   that the value breaks, by which others find their own words; "" where the type says it
    values: of the rule: the bounds of a range, the values that are supported
    """

    path: str
    type: ErrorType
    value: str
    detail: str
    rule: str = ""
    values: tuple[str, ...] = ()

    def text(self) -> str:
        """As upstream prints it: "PATH: TYPE: VALUE: DETAIL"."""
        return ": ".join(part for part in (self.path, self.type, self.value, self.detail) if part)


def as_qualified_names(errors: Iterable[FieldError]) -> list[FieldError]:
    """Return the errors in the words of minors without the rule `names_label_keys`."""
    return [
        replace(error, detail=error.detail.replace(_LABEL_KEY, _QUALIFIED_NAME)) for error in errors
    ]


def bad_value_text(value: Any) -> str:
    """Return a bad value as field.Error prints it: Go's %q for a string, %v for a number, else
    JSON."""
    if isinstance(value, str):
        return quote(value)
    return float_text(value) if isinstance(value, float) else json_text(value)


def invalid(path: str, value: Any, detail: str, rule: str = "", *values: str) -> FieldError:
    return FieldError(path, ErrorType.INVALID, bad_value_text(value), detail, rule, values)


def required(path: str, detail: str = "", rule: str = "") -> FieldError:
    return FieldError(path, ErrorType.REQUIRED, "", detail, rule)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(path, ErrorType.DUPLICATE, bad_value_text(value), "")


def forbidden(path: str, detail: str, rule: str = "") -> FieldError:
    return FieldError(path, ErrorType.FORBIDDEN, "", detail, rule)


def unsupported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    values = tuple(supported)
    detail = "supported values: " + ", ".join(map(quote, values))
    return FieldError(path, ErrorType.UNSUPPORTED, bad_value_text(value), detail, values=values)


def out_of_range(
    path: str,
    value: Any,
    least: int,
    most: int | None = None,
    subject: str = "",
    *,
    excludes_least: bool = False,
) -> FieldError:
    """most: None for no bound; subject: what the words begin with"""
    begin, end = "(" if excludes_least else "[", "inf)" if most is None else f"{most}]"
    bounds = f"more than {least}" if excludes_least else f"at least {least}"
    if most is not None:
        bounds = f"{bounds} and at most {most}" if excludes_least else f"from {least} to {most}"
    return invalid(path, value, f"{subject}not in valid range {begin}{least}, {end}", RANGE, bounds)


def child(path: str, *names: str) -> str:
    """field.Path.Child; an empty path is Go's nil."""
    return ".".join((path, *names) if path else names)


class NameProblem(NamedTuple):
    """What is wrong with a name, in upstream's words. rule: see FieldError"""

    text: str
    rule: str = ""


def qualified_name_problems(value: str) -> list[NameProblem]:
    """validation.IsQualifiedName: what is wrong with a label's key; [] for a valid one."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        text = (
            f"{_LABEL_KEY} {_NAME_ERROR} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        )
        return [NameProblem(text, NAME)]
    problems = []
    if slash and not prefix:
        problems.append(NameProblem("prefix part must be non-empty"))
    elif slash:
        problems += _problems("prefix part ", prefix, 253, _SUBDOMAIN, _SUBDOMAIN_ERROR)
    if not name:
        problems.append(NameProblem("name part must be non-empty"))
    return problems + _problems("name part ", name, 63, _NAME, _NAME_ERROR)


def _problems(
    subject: str, value: str, longest: int, pattern: str, requirement: str
) -> list[NameProblem]:
    """subject: what each begins with; longest: in UTF-8; requirement: what the pattern asks for"""
    problems = []
    # Half of a surrogate pair, which bytes of a command line become, counts as three bytes.
    if len(value.encode("utf-8", "surrogatepass")) > longest:
        problems.append(NameProblem(f"{subject}must be no more than {longest} characters"))
    if not re.fullmatch(pattern, value):
        problems.append(NameProblem(f"{subject}{requirement}", NAME))
    return problems


def label_value_problems(value: str) -> list[NameProblem]:
    """validation.IsValidLabelValue: what is wrong with a label's value; [] for a valid one."""
    return _problems("", value, 63, _LABEL_VALUE, _VALUE_ERROR)


def label_name_errors(value: str, path: str) -> list[FieldError]:
    """metav1validation.ValidateLabelName."""
    return [invalid(path, value, *problem) for problem in qualified_name_problems(value)]


def is_extended_resource_name(name: str) -> bool:
    """helper.IsExtendedResourceName: a domain that is not Kubernetes's own, fit for a quota."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not qualified_name_problems(_QUOTA_PREFIX + name)

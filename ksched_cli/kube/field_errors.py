"""Errors about a field of an object, and the rules for names of labels and resources.

Upstream: apimachinery/pkg/util/validation/field/errors.go and util/validation/validation.go,
core/v1/helper (IsExtendedResourceName).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

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
_NATIVE_DOMAIN = "kubernetes.io/"


class ErrorType(StrEnum):
    """field.ErrorType, as it is printed."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    UNSUPPORTED = "Unsupported value"


class FieldError(Struct, frozen=True):
    """field.Error. value: the bad value as text, "" for types of error that name no value."""

    path: str
    type: ErrorType
    value: str
    detail: str

    def text(self) -> str:
        """As upstream prints it: "PATH: TYPE: VALUE: DETAIL"."""
        return ": ".join(part for part in (self.path, self.type, self.value, self.detail) if part)


def as_qualified_names(errors: Iterable[FieldError]) -> list[FieldError]:
    """The errors in the words of minors without the rule `names_label_keys`."""
    return [
        replace(error, detail=error.detail.replace(_LABEL_KEY, _QUALIFIED_NAME)) for error in errors
    ]


def bad_value_text(value: Any) -> str:
    """A bad value as field.Error prints it: Go's %q for a string, %v for a number, else JSON."""
    if isinstance(value, str):
        return quote(value)
    return float_text(value) if isinstance(value, float) else json_text(value)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(path, ErrorType.INVALID, bad_value_text(value), detail)


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(path, ErrorType.REQUIRED, "", detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(path, ErrorType.DUPLICATE, bad_value_text(value), "")


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(path, ErrorType.FORBIDDEN, "", detail)


def unsupported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    detail = "supported values: " + ", ".join(quote(item) for item in supported)
    return FieldError(path, ErrorType.UNSUPPORTED, bad_value_text(value), detail)


def child(path: str, *names: str) -> str:
    """field.Path.Child; an empty path is Go's nil."""
    return ".".join((path, *names) if path else names)


def qualified_name_problems(value: str) -> list[str]:
    """validation.IsQualifiedName: what is wrong with a label's key; [] for a valid one."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"{_LABEL_KEY} {_NAME_ERROR} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += _problems("prefix part ", prefix, 253, _SUBDOMAIN, _SUBDOMAIN_ERROR)
    if not name:
        problems.append("name part must be non-empty")
    return problems + _problems("name part ", name, 63, _NAME, _NAME_ERROR)


def _problems(subject: str, value: str, longest: int, pattern: str, rule: str) -> list[str]:
    """subject: what each begins with; longest: in UTF-8; rule: what the pattern asks for"""
    problems = []
    # Half of a surrogate pair, which bytes of a command line become, counts as three bytes.
    if len(value.encode("utf-8", "surrogatepass")) > longest:
        problems.append(f"{subject}must be no more than {longest} characters")
    if not re.fullmatch(pattern, value):
        problems.append(f"{subject}{rule}")
    return problems


def label_value_problems(value: str) -> list[str]:
    """validation.IsValidLabelValue: what is wrong with a label's value; [] for a valid one."""
    return _problems("", value, 63, _LABEL_VALUE, _VALUE_ERROR)


def label_name_errors(value: str, path: str) -> list[FieldError]:
    """metav1validation.ValidateLabelName."""
    return [invalid(path, value, problem) for problem in qualified_name_problems(value)]


def is_extended_resource_name(name: str) -> bool:
    """helper.IsExtendedResourceName: a domain that is not Kubernetes's own, fit for a quota."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not qualified_name_problems(_QUOTA_PREFIX + name)

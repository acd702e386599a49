"""Errors about a field, and the rules for names that they are made by.

Upstream: apimachinery/pkg/util/validation/field/errors.go and util/validation/validation.go,
core/v1/helper (IsExtendedResourceName).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
_QUOTA_PREFIX = "requests."
_NATIVE = "kubernetes.io/"


class Fault(StrEnum):
    """field.ErrorType, as it is printed."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    DUPLICATE = "Duplicate value"
    FORBIDDEN = "Forbidden"
    UNSUPPORTED = "Unsupported value"


@dataclass(frozen=True, slots=True)
class FieldError:
    """field.Error. value: the bad value as text, empty where the fault has none."""

    path: str
    fault: Fault
    value: str
    detail: str

    def text(self) -> str:
        """As upstream prints it: "PATH: fault: value: detail"."""
        return ": ".join(part for part in (self.path, self.fault, self.value, self.detail) if part)


def shown(value: Any) -> str:
    """A bad value as field.Error prints it: Go's %q for a string, %v for a number, else JSON."""
    if isinstance(value, str):
        return quote(value)
    return float_text(value) if isinstance(value, float) else json_text(value)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(path, Fault.INVALID, shown(value), detail)


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(path, Fault.REQUIRED, "", detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(path, Fault.DUPLICATE, shown(value), "")


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(path, Fault.FORBIDDEN, "", detail)


def unsupported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    detail = "supported values: " + ", ".join(quote(item) for item in supported)
    return FieldError(path, Fault.UNSUPPORTED, shown(value), detail)


def child(path: str, *names: str) -> str:
    """field.Path.Child; an empty path is Go's nil."""
    return ".".join((path, *names) if path else names)


def distinct(errors: Iterable[FieldError]) -> list[FieldError]:
    """ErrorList.ToAggregate: each message once."""
    return list(dict.fromkeys(errors))


def aggregate(errors: Iterable[FieldError]) -> str:
    """Aggregate.Error: one message as it is, more in brackets."""
    said = list(dict.fromkeys(error.text() for error in errors))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]"


def qualified_name_faults(value: str) -> list[str]:
    """validation.IsQualifiedName."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a qualified name {_NAME_ERROR} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in _subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 characters")
    if not re.fullmatch(_NAME, name):
        faults.append(f"name part {_NAME_ERROR}")
    return faults


def _subdomain_faults(value: str) -> list[str]:
    faults = []
    if len(value.encode()) > 253:
        faults.append("must be no more than 253 characters")
    if not re.fullmatch(_SUBDOMAIN, value):
        faults.append(_SUBDOMAIN_ERROR)
    return faults


def label_value_faults(value: str) -> list[str]:
    """validation.IsValidLabelValue."""
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 characters")
    if not re.fullmatch(_LABEL_VALUE, value):
        faults.append(_VALUE_ERROR)
    return faults


def label_name_errors(value: str, path: str) -> list[FieldError]:
    """metav1validation.ValidateLabelName."""
    return [invalid(path, value, fault) for fault in qualified_name_faults(value)]


def is_extended_resource_name(name: str) -> bool:
    """helper.IsExtendedResourceName: a domain that is not Kubernetes's own, fit for a quota."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not qualified_name_faults(_QUOTA_PREFIX + name)

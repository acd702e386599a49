"""kube-scheduler's words about a value, in ours: what they mean, and what to write.

Its own words stand beside: a review ends with kube-scheduler's whole message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ksched_cli.config.checks.known_names import REMOVED_PLUGINS
from ksched_cli.kube.field_errors import ErrorType, FieldError
from ksched_cli.kube.near_names import nearest

# From the error, its key and what the pattern matched to message and hint.
_Explain: TypeAlias = Callable[[FieldError, str, re.Match[str]], tuple[str, str]]

_RANGE = re.compile(r"not in valid range (?P<open>[\[(])(?P<least>\d+)(?:, |-)(?P<most>\w+)[\])]")
_LEFT_OUT: Mapping[str, str] = {
    "parallelism": "the default, 16",
    "percentageOfNodesToScore": "a share that depends on the number of nodes",
    "podInitialBackoffSeconds": "the default, 1",
    "podMaxBackoffSeconds": "the default, 10",
    "burst": "the default, 100",
    "bindTimeoutSeconds": "the default, 600",
    "filterTimeout": "the default, 10s",
    "bindingTimeout": "the default, 10m",
    "minCandidateNodesPercentage": "the default, 10",
    "minCandidateNodesAbsolute": "the default, 100",
    "hardPodAffinityWeight": "the default, 1",
    "renewDeadline": "the default, 10s",
    "retryPeriod": "the default, 2s",
    "leaseDuration": "the default, 15s",
}


def explanation(error: FieldError, key: str) -> tuple[str, str]:
    """Message and hint. key: the last step of the error's path"""
    if not error.path:  # args as a whole: the plugin says which field it means
        return _BY_TYPE[error.type](error, key)
    for pattern, explain in _WORDED_ANEW:
        if match := re.search(pattern, error.detail):
            return explain(error, key, match)
    for pattern, message, hint in _TEXTS:
        if re.search(pattern, error.detail):
            values = {"key": key, "value": error.value}
            return message.format(**values), hint.format(**values) or _left_out(key)
    return _BY_TYPE[error.type](error, key)


def _left_out(key: str) -> str:
    return f"leave it out for {_LEFT_OUT[key]}" if key in _LEFT_OUT else ""


def _range(error: FieldError, key: str, match: re.Match[str]) -> tuple[str, str]:
    least, most = match["least"], match["most"]
    if match["open"] == "(":
        bounds = f"more than {least}" + ("" if most == "inf" else f" and at most {most}")
    else:
        bounds = f"at least {least}" if most == "inf" else f"from {least} to {most}"
    return f"{key} is {error.value}, and must be {bounds}", _left_out(key)


def _removed(error: FieldError, key: str, match: re.Match[str]) -> tuple[str, str]:
    name = error.value.strip('"')
    return f"v1 has no plugin {name}", REMOVED_PLUGINS.get(name, "remove it")


_WORDED_ANEW: tuple[tuple[str, _Explain], ...] = (
    (_RANGE.pattern, _range),
    ('was invalid in version "v1"', _removed),
)
# What kube-scheduler says, most special first, with a message and a hint in which {key} and {value}
# are filled in.
_TEXTS: tuple[tuple[str, str, str], ...] = (
    (
        "greater than `RenewDeadline`",
        "leaseDuration must be longer than renewDeadline, which is {value}",
        "raise leaseDuration (default 15s) or lower renewDeadline (default 10s): a leader must "
        "give up before another may take over",
    ),
    (
        "resourceLock value must be",
        "{value} is not supported any more; the only resource lock is leases",
        "write resourceLock: leases",
    ),
    (
        "must match|must be the same for all profiles",
        "queueSort differs from the first profile's, and all profiles share one queue",
        "give every profile the same plugins.queueSort, with the same args",
    ),
    (
        "only one queue sort plugin",
        "{value} plugins are enabled at queueSort; only one may be",
        "keep one of them",
    ),
    (
        "greater than or equal to PodInitialBackoffSeconds",
        "podMaxBackoffSeconds is {value}, less than podInitialBackoffSeconds",
        "the wait begins with podInitialBackoffSeconds (default 1) and doubles up to "
        "podMaxBackoffSeconds (default 10)",
    ),
    (
        "must have a positive weight",
        "an extender with a prioritizeVerb requires a weight above 0; it is {value}",
        "write weight: 1, or remove prioritizeVerb",
    ),
    (
        "only one extender can implement bind",
        "several extenders have a bindVerb; only one may bind pods",
        "keep one bindVerb",
    ),
    (
        "duplicate extender managed resource name",
        "two extenders manage {value}",
        "keep one of the entries",
    ),
    (
        "is an invalid extended resource name",
        "{value} is not an extended resource; extenders manage only extended resources",
        "an extended resource has a domain other than kubernetes.io, such as example.com/gpu",
    ),
    (
        "resource group name can't contain",
        "a group of resources has no slash: {value}",
        "write only the part before the slash",
    ),
    (
        "regex used for validation",
        "{value} is not a valid name",
        "use letters, digits, '-', '_' and '.', with a letter or digit at both ends; "
        "optionally a domain and a slash before it, such as example.com/gpu",
    ),
    (
        "cannot be zero at the same time",
        "minCandidateNodesPercentage and minCandidateNodesAbsolute are both 0, so that "
        "preemption would look at no node",
        "leave one of them out (defaults 10 and 100)",
    ),
    (
        "values must be sorted in increasing order",
        "utilization {value} is not greater than that of the previous point",
        "sort the points by increasing utilization",
    ),
    (
        "must not define a selector",
        "a default constraint has no labelSelector",
        "remove it: kube-scheduler takes the selectors from each pod's Services and workloads",
    ),
    (
        r"when \.defaultConstraints are not empty",
        "defaultConstraints require defaultingType: List; it is {value}, which is also the default",
        "write defaultingType: List; your constraints then replace the built-in ones",
    ),
    (
        "^must be 1$",
        "{key} is {value}, and must be 1: this plugin weighs all resources alike",
        "write 1",
    ),
    (
        "has to match plugin args",
        "NodeResourcesFitArgs is the kind of the args; the plugin's name is NodeResourcesFit",
        "write name: NodeResourcesFit",
    ),
    (
        "when type is RequestedToCapacityRatio",
        "{key} is missing; type: RequestedToCapacityRatio requires it",
        "add requestedToCapacityRatio: {{shape: [{{utilization: 0, score: 0}}, "
        "{{utilization: 100, score: 10}}]}}",
    ),
    (
        "when type is not RequestedToCapacityRatio",
        "{key} requires type: RequestedToCapacityRatio",
        "remove it, or write type: RequestedToCapacityRatio",
    ),
    (
        "at least one point",
        "the shape has no point",
        "as [{{utilization: 0, score: 0}}, {{utilization: 100, score: 10}}]",
    ),
    (
        "feature gate StorageCapacityScoring",
        "shape requires the feature gate StorageCapacityScoring, which is off",
        "remove it",
    ),
    ("feature gate is disabled", "{key} requires feature gates that are off", "remove it"),
    ("must be at least 1 second", "{key} is {value}, and must be at least 1s", ""),
    (
        "non-negative|zero or positive|negative value",
        "{key} is {value}, and must not be negative",
        "",
    ),
    ("greater than (0|zero)", "{key} is {value}, and must be more than 0", ""),
    (
        "'in', 'notin' operators, values set can't be empty",
        "the operators In and NotIn require values",
        "add a value, or write operator: Exists",
    ),
    (
        "values set must be empty",
        "the operators Exists and DoesNotExist take no values",
        "remove the values",
    ),
    ("exactly one value is required", "the operators Gt and Lt take one value", 'as values: ["5"]'),
    (
        "the value must be an integer",
        "the operators Gt and Lt compare whole numbers, and {value} is not one",
        'as values: ["5"]',
    ),
    ("must have one element", "a term of matchFields takes one value", "keep one value"),
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
    return f"{key} is missing", _MISSING.get(key, error.detail)


_MISSING = {
    "topologyKey": "write a label of nodes, such as topology.kubernetes.io/zone",
    "whenUnsatisfiable": "write DoNotSchedule or ScheduleAnyway",
}


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

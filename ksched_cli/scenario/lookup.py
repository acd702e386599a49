"""Finds the objects that a change names, or that its selector matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ksched_cli.cluster.objects import LabelSelector, LabelSelectorRequirement, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.selectors import Selector, SelectorError, label_selector
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.pod_passes import select_by_labels, select_by_name

_SET = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_OPERATORS = {"in": "In", "notin": "NotIn"}


def find_pods(
    change: Change, state: ClusterState, names: Sequence[str], namespace: str
) -> list[Pod]:
    """The pods of these names, "pod/NAME" and "NAMESPACE/NAME" allowed.

    namespace: where to look; "" for everywhere
    Raises ChangeError for a name that is not there, or in several namespaces.
    """
    by_name: dict[str, list[Pod]] = {}
    for pod in select_by_name(state.pods, {name.rpartition("/")[2] for name in names}):
        by_name.setdefault(pod.name, []).append(pod)
    return [_pod(change, state, by_name, name, namespace) for name in names]


def _pod(
    change: Change,
    state: ClusterState,
    by_name: dict[str, list[Pod]],
    written: str,
    namespace: str,
) -> Pod:
    parent, _, name = written.rpartition("/")
    if parent not in ("", "po", "pod", "pods"):
        namespace = parent
    pods = [p for p in by_name.get(name, ()) if not namespace or p.namespace == namespace]
    if not pods and name in by_name:
        raise change.elsewhere("pod", name, namespace, [pod.key for pod in by_name[name]])
    if not pods:
        raise change.unknown("pod", name, list({pod.name: None for pod in state.pods}))
    if len(pods) > 1:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise change.error(f'several pods are named "{name}": {keys}; add -n NAMESPACE')
    return pods[0]


def choose_pods(
    change: Change, state: ClusterState, names: Sequence[str], selector: str, namespace: str
) -> list[Pod]:
    """The pods of these names; without any those that the selector matches, "" all. namespace: ""
    for every one. Raises ChangeError."""
    if names:
        return find_pods(change, state, names, namespace)
    pods = select_by_labels(state.pods, read_selector(change.text, selector))
    return [pod for pod in pods if pod.namespace == namespace] if namespace else pods


def read_selector(change_text: str, text: str) -> Selector:
    """A selector as -l takes it: "a=b,c!=d,e in (f,g),h,!i"; "" matches everything.

    Raises ChangeError. Upstream: apimachinery/pkg/labels (Parse).
    """
    expressions = tuple(_expression(change_text, part) for part in _parts(text))
    try:
        return label_selector(LabelSelector(match_expressions=expressions))
    except SelectorError as error:
        raise ChangeError(change_text, f'-l "{text}": {error}') from None


def _parts(text: str) -> Iterable[str]:
    """Split at commas outside of parentheses."""
    return [part for part in re.findall(r"(?:[^,(]|\([^)]*\)?)+", text) if part.strip()]


def _expression(change_text: str, part: str) -> LabelSelectorRequirement:
    part = part.strip()
    match = _SET.fullmatch(part)
    if match is not None:
        values = tuple(value.strip() for value in match["values"].split(","))
        return LabelSelectorRequirement(match["key"], _OPERATORS[match["operator"]], values)
    if "!=" in part:
        key, _, value = part.partition("!=")
        return LabelSelectorRequirement(key.strip(), "NotIn", (value.strip(),))
    if "=" in part:
        key, _, value = part.partition("=")
        return LabelSelectorRequirement(key.strip(), "In", (value.removeprefix("=").strip(),))
    if " " in part:
        raise ChangeError(change_text, f'-l: "{part}" is not a selector; expected KEY=VALUE')
    if part.startswith("!"):
        return LabelSelectorRequirement(part[1:], "DoesNotExist")
    return LabelSelectorRequirement(part, "Exists")

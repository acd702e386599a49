"""Node selectors and node affinity over columns: one answer per label value, looked up per node.

Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.labels import LabelColumn
from ksched_cli.cluster.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from ksched_cli.cluster.selectors import parse_int64, term_errors
from ksched_cli.cluster.snapshot import Snapshot

Mask = NDArray[np.bool_]

NAME_FIELD = "metadata.name"


def matches_required(snapshot: Snapshot, spec: PodSpec) -> Mask:
    """The nodes that a pod's nodeSelector and required node affinity both allow."""
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for key, value in spec.node_selector.items():
        mask &= snapshot.labels[key].isin((value,))
    affinity = spec.affinity and spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    if required:
        mask &= matches_any(snapshot, required.node_selector_terms)
    return mask


def matches_any(snapshot: Snapshot, terms: Iterable[NodeSelectorTerm]) -> Mask:
    """The nodes that match at least one term. A term that upstream cannot parse matches none."""
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for term in terms:
        if not is_empty(term) and not term_errors(term):
            mask |= matches_term(snapshot, term)
    return mask


def preferred_weights(
    snapshot: Snapshot, terms: Iterable[PreferredSchedulingTerm]
) -> NDArray[np.int64]:
    """Per node, the sum of the weights of the terms it matches. The terms parse."""
    sums = np.zeros(len(snapshot), dtype=np.int64)
    for term in terms:
        if term.weight and not is_empty(term.preference):
            sums += matches_term(snapshot, term.preference) * np.int64(term.weight)
    return sums


def is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def matches_term(snapshot: Snapshot, term: NodeSelectorTerm) -> Mask:
    """The nodes that meet all of a term's requirements."""
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for requirement in term.match_expressions:
        mask &= _meets(snapshot.labels[requirement.key], requirement)
    for requirement in term.match_fields:
        mask &= _meets_field(snapshot, requirement)
    return mask


def _meets(column: LabelColumn, requirement: NodeSelectorRequirement) -> Mask:
    match requirement.operator:
        case "In":
            return column.isin(requirement.values)
        case "NotIn":
            return ~column.isin(requirement.values)
        case "Exists":
            return column.present
        case "DoesNotExist":
            return ~column.present
        case operator:
            bound = parse_int64(requirement.values[0])
            numbers = [parse_int64(value) for value in column.values]
            greater = operator == "Gt"
            holds = [
                number is not None
                and bound is not None
                and (number > bound if greater else number < bound)
                for number in numbers
            ]
            return column.where(np.array(holds, dtype=np.bool_))


def _meets_field(snapshot: Snapshot, requirement: NodeSelectorRequirement) -> Mask:
    """Fields other than the name do not exist, and count as empty."""
    value = requirement.values[0]
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    if requirement.key == NAME_FIELD:
        row = snapshot.row.get(value)
        if row is not None:
            mask[row] = True
    elif value == "":
        mask[:] = True
    return mask if requirement.operator == "In" else ~mask

"""Node selectors over columns: one answer per label value, looked up per node.

Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import (
    NODE_NAME_FIELD,
    NodeTerm,
    NodeTerms,
    PreferredTerm,
    RequiredNodeAffinity,
)
from ksched_cli.cluster.snapshot import Mask, Snapshot
from ksched_cli.kube.selectors import IN, Requirement


def matches_required(snapshot: Snapshot, affinity: RequiredNodeAffinity) -> Mask:
    """Return the nodes that a pod's nodeSelector and required node affinity both allow."""
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for requirement in affinity.labels.requirements:
        mask &= meets(snapshot, requirement)
    if affinity.affinity is not None:
        mask &= matches_any(snapshot, affinity.affinity)
    return mask


def matches_any(snapshot: Snapshot, selector: NodeTerms) -> Mask:
    """Return the nodes that match at least one term. A term that cannot be parsed matches none."""
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for term in selector.terms:
        mask |= matches_term(snapshot, term)
    return mask


def preferred_weights(snapshot: Snapshot, terms: Iterable[PreferredTerm]) -> NDArray[np.int64]:
    """Return per node, the sum of the weights of the terms it matches."""
    sums = np.zeros(len(snapshot), dtype=np.int64)
    for preferred in terms:
        sums += matches_term(snapshot, preferred.term) * np.int64(preferred.weight)
    return sums


def matches_term(snapshot: Snapshot, term: NodeTerm) -> Mask:
    """Return the nodes that meet all of a term's requirements."""
    if term.errors:
        return np.zeros(len(snapshot), dtype=np.bool_)
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for requirement in term.labels:
        mask &= meets(snapshot, requirement)
    for requirement in term.fields:
        # Fields other than the name do not exist, and count as empty.
        value = requirement.values[0]
        met = np.full(len(snapshot), requirement.key != NODE_NAME_FIELD and value == "")
        row = snapshot.row.get(value)
        if requirement.key == NODE_NAME_FIELD and row is not None:
            met[row] = True
        mask &= met if requirement.operator == IN else ~met
    return mask


def meets(snapshot: Snapshot, requirement: Requirement) -> Mask:
    """Return the nodes whose label meets one requirement."""
    column = snapshot.labels[requirement.key]
    if requirement.operator == IN:
        # Without a look at every value: a host name has as many as there are nodes.
        return column.isin(requirement.values)
    holds = [requirement.matches_value(value) for value in (*column.values, None)]
    return np.array(holds, dtype=np.bool_)[column.codes]

"""Which nodes reach a resource slice, and which of its devices.

Upstream: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go
(GatherPools, NodeMatches).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    Device,
    NodeSelector,
    NodeSelectorRequirement,
    ResourceSlice,
    ResourceSliceSpec,
)
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.topology.node_selection import matches_any


class SliceReach:
    """error: of the first invalid node selector, which fails every node; or ''"""

    def __init__(self, snapshot: Snapshot) -> None:
        self.error = ""
        self._snapshot = snapshot

    def reached_rows(self, resource_slice: ResourceSlice) -> Iterable[tuple[int, bytes]]:
        """The rows that reach the slice. Each has a byte per device, 1 where it reaches the device;
        b"" where the slice says which nodes reach all of its devices."""
        spec = resource_slice.spec
        if not spec.per_device_node_selection:
            return ((row, b"") for row in self._slice_rows(resource_slice).tolist())
        reached: NDArray[np.bool_] = np.zeros(
            (len(spec.devices), len(self._snapshot)), dtype=np.bool_
        )
        for mask, device in zip(reached, spec.devices, strict=True):
            mask[self._rows(device, f"device {device.name}")] = True
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            rows = self._slice_rows(resource_slice)
        else:
            rows = np.flatnonzero(reached.any(axis=0))
        return ((row, reached[:, row].tobytes()) for row in rows.tolist())

    def _slice_rows(self, resource_slice: ResourceSlice) -> Rows:
        return self._rows(resource_slice.spec, f"slice {resource_slice.name}")

    def _rows(self, place: ResourceSliceSpec | Device, subject: str) -> Rows:
        """subject: what has the place, for a message"""
        if place.node_name:
            row = self._snapshot.row.get(place.node_name)
            return np.array([] if row is None else [row], dtype=np.intp)
        if place.all_nodes:
            return np.arange(len(self._snapshot))
        if place.node_selector is None:
            return np.empty(0, dtype=np.intp)
        terms = node_terms(place.node_selector)
        if terms.error:
            self.error = self.error or (
                f"gather pool information: failed to perform node selection for {subject}: "
                f"failed to parse node selector {_go_text(place.node_selector)}: {terms.error}"
            )
        return np.flatnonzero(matches_any(self._snapshot, terms))


def _go_text(selector: NodeSelector) -> str:
    """A selector as Go's String method prints it. Upstream: api/core/v1/generated.pb.go."""

    def requirements_text(requirements: tuple[NodeSelectorRequirement, ...]) -> str:
        parts = (
            f"NodeSelectorRequirement{{Key:{requirement.key},Operator:{requirement.operator},"
            f"Values:[{' '.join(requirement.values)}],}},"
            for requirement in requirements
        )
        return f"[]NodeSelectorRequirement{{{''.join(parts)}}}"

    terms = (
        f"NodeSelectorTerm{{MatchExpressions:{requirements_text(term.match_expressions)},"
        f"MatchFields:{requirements_text(term.match_fields)},}},"
        for term in selector.node_selector_terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{''.join(terms)}}},}}"

"""The nodes that can use an allocation, from where its devices are.

Upstream: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
(createNodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.cluster.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.plugins.dynamic_resources.pool_devices import PoolDevice


def node_selector(devices: Iterable[PoolDevice], node_name: str) -> NodeSelector | None:
    """The nodes that can use an allocation of these devices; None: all. Raises ValueError."""
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for device in devices:
        spec = device.slice.spec
        place = device.device if spec.per_device_node_selection else spec
        if place.node_name is not None or device.device.binds_to_node:
            this_node = NodeSelectorRequirement(
                key="metadata.name", operator="In", values=(node_name,)
            )
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(this_node,)),))
        terms = place.node_selector.node_selector_terms if place.node_selector else ()
        if len(terms) > 1:
            raise ValueError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _add_new(
    requirements: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for requirement in added:
        if not any(_equal_requirements(requirement, other) for other in requirements):
            requirements.append(requirement)


def _equal_requirements(
    requirement: NodeSelectorRequirement, other: NodeSelectorRequirement
) -> bool:
    return (requirement.key, requirement.operator, set(requirement.values)) == (
        other.key,
        other.operator,
        set(other.values),
    )

"""What is not right about a state's device classes, slices and claims, by object and field.

Nothing here decides anything: upstream finds out when a pod needs the object, and then some pods
stay pending with a reason that does not name the culprit. One line per fault, for people.
"""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.cluster.objects import (
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ResourceClaimSpec,
    ResourceSlice,
)
from ksched_cli.cluster.selectors import node_terms
from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.dynamic_resources.selectors import Failure, compiled

SHOWN = 3


def device_faults(state: ClusterState) -> list[str]:
    """The same fault of several objects is told once, with the first of their names."""
    found: dict[tuple[str, str], list[str]] = {}
    for subject, field, problem in _faults(state):
        found.setdefault((field, problem), []).append(subject)
    return [
        f"{_named(subjects)}: {field}: {problem}" for (field, problem), subjects in found.items()
    ]


def _named(subjects: list[str]) -> str:
    rest = len(subjects) - SHOWN
    return ", ".join(subjects[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _faults(state: ClusterState) -> Iterator[tuple[str, str, str]]:
    """Object, field, problem."""
    for device_class in state.device_classes.values():
        for field, problem in _selector_faults(device_class.spec.selectors, "spec"):
            yield f"DeviceClass {device_class.name}", field, problem
    for claim in state.resource_claims.values():
        for field, problem in _claim_faults(claim.spec, "spec", state):
            yield f"ResourceClaim {claim.key}", field, problem
    for template in state.resource_claim_templates.values():
        for field, problem in _claim_faults(template.spec.spec, "spec.spec", state):
            yield f"ResourceClaimTemplate {template.key}", field, problem
    yield from _slice_faults(state)


def _selector_faults(selectors: tuple[DeviceSelector, ...], path: str) -> Iterator[tuple[str, str]]:
    for place, selector in enumerate(selectors):
        field = f"{path}.selectors[{place}].cel"
        if selector.cel is None:
            yield field, "is missing; no other kind of selector is known"
            continue
        program = compiled(selector.cel.expression)
        if isinstance(program, Failure):
            yield f"{field}.expression", program.text.split("\n", 1)[0]


def _claim_faults(
    spec: ResourceClaimSpec, path: str, state: ClusterState
) -> Iterator[tuple[str, str]]:
    for place, request in enumerate(spec.devices.requests):
        field = f"{path}.devices.requests[{place}]"
        if request.exactly is None and not request.first_available:
            yield field, "has neither exactly nor firstAvailable"
        for own, wanted in _wanted(request, field):
            yield from _selector_faults(wanted.selectors, own)
            name = wanted.device_class_name
            if name not in state.device_classes:
                yield f"{own}.deviceClassName", f'there is no DeviceClass "{name}" in the state'
    for place, constraint in enumerate(spec.devices.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            yield f"{path}.devices.constraints[{place}]", "has no matchAttribute"


def _wanted(request: DeviceRequest, path: str) -> Iterator[tuple[str, DeviceSubRequest]]:
    if request.exactly is not None:
        yield f"{path}.exactly", request.exactly
    for place, choice in enumerate(request.first_available):
        yield f"{path}.firstAvailable[{place}]", choice


def _slice_faults(state: ClusterState) -> Iterator[tuple[str, str, str]]:
    nodes = {node.name for node in state.nodes}
    pools: dict[tuple[str, str], list[ResourceSlice]] = {}
    for one in state.resource_slices.values():
        pools.setdefault((one.spec.driver, one.spec.pool.name), []).append(one)
        for field, problem in _reach_faults(one, nodes):
            yield f"ResourceSlice {one.name}", f"spec.{field}", problem
    for slices in pools.values():
        yield from _pool_faults(slices)


def _reach_faults(one: ResourceSlice, nodes: set[str]) -> Iterator[tuple[str, str]]:
    spec = one.spec
    if spec.per_device_node_selection is not None:
        yield "perDeviceNodeSelection", "is behind a gate that is off: its devices do not count"
    elif spec.node_name:
        if spec.node_name not in nodes:
            yield "nodeName", f'there is no Node "{spec.node_name}" in the state'
    elif spec.node_selector is not None and not spec.all_nodes:
        error = node_terms(spec.node_selector).error
        if error:
            yield "nodeSelector", f"{error}; no claim can be allocated anywhere"
    elif not spec.all_nodes:
        yield "nodeName", "is missing, and so are nodeSelector and allNodes: no node reaches it"


def _pool_faults(slices: list[ResourceSlice]) -> Iterator[tuple[str, str, str]]:
    newest = max(one.spec.pool.generation for one in slices)
    current = [one for one in slices if one.spec.pool.generation == newest]
    spec = current[0].spec
    pool = f"{spec.driver}/{spec.pool.name}"
    for one in slices:
        if one.spec.pool.generation < newest:
            yield (
                f"ResourceSlice {one.name}",
                "spec.pool.generation",
                f"{one.spec.pool.generation} is out of date, pool {pool} is at {newest}: its "
                "devices do not count where the newer ones are within reach",
            )
    if len(current) != spec.pool.resource_slice_count:
        yield (
            f"ResourceSlice {current[0].name}",
            "spec.pool.resourceSliceCount",
            f"pool {pool} should have {spec.pool.resource_slice_count} slices of generation "
            f"{newest} and has {len(current)}: requests for all devices fail",
        )
    seen: set[str] = set()
    for one in current:
        for place, device in enumerate(one.spec.devices):
            if device.name in seen:
                yield (
                    f"ResourceSlice {one.name}",
                    f"spec.devices[{place}].name",
                    f'"{device.name}" is there twice in pool {pool}, which makes it invalid',
                )
            seen.add(device.name)

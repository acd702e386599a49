"""Problems of a state's device classes, resource slices and claims, by object and field.

These are warnings and change no decision: upstream notices when a pod needs the object, and the
pod stays pending with a reason that does not name the object. One line per problem.
"""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    DeviceSelector,
    DeviceSubRequest,
    ResourceClaimSpec,
    ResourceSlice,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.versions import Rules, release_of
from ksched_cli.plugins.dynamic_resources.features import NO_FEATURES, AllocatorFeatures
from ksched_cli.plugins.dynamic_resources.selectors import SelectorFailure, compile_selector
from ksched_cli.plugins.helper import listed


def device_problems(
    state: ClusterState, features: AllocatorFeatures = NO_FEATURES, rules: Rules | None = None
) -> list[str]:
    """Return one line per distinct problem, with the first objects that have it. rules: of the
    release; by default of the newest"""
    subjects_by_problem: dict[tuple[str, str], list[str]] = {}
    for subject, field, problem in _problems(state, features, rules or release_of().rules):
        subjects_by_problem.setdefault((field, problem), []).append(subject)
    by_problem = subjects_by_problem.items()
    return [f"{listed(names)}: {field}: {problem}" for (field, problem), names in by_problem]


def _problems(
    state: ClusterState, features: AllocatorFeatures, rules: Rules
) -> Iterator[tuple[str, str, str]]:
    """Yield each problem as its object, field and text."""
    for device_class in state.device_classes.values():
        for field, problem in _selector_problems(device_class.spec.selectors, "spec"):
            yield f"DeviceClass {device_class.name}", field, problem
    for claim in state.resource_claims.values():
        for field, problem in _claim_problems(claim.spec, "spec", state):
            yield f"ResourceClaim {claim.key}", field, problem
    for template in state.resource_claim_templates.values():
        for field, problem in _claim_problems(template.spec.spec, "spec.spec", state):
            yield f"ResourceClaimTemplate {template.key}", field, problem
    # A slice selects nodes; the slices of a pool must agree.
    nodes = {node.name for node in state.nodes}
    pools: dict[tuple[str, str], list[ResourceSlice]] = {}
    for resource_slice in state.resource_slices.values():
        spec = resource_slice.spec
        pools.setdefault((spec.driver, spec.pool.name), []).append(resource_slice)
        for field, problem in _node_selection_problems(
            resource_slice, nodes, features.partitionable_devices
        ):
            yield f"ResourceSlice {resource_slice.name}", f"spec.{field}", problem
    for slices in pools.values():
        yield from _pool_problems(slices, rules)


def _selector_problems(
    selectors: tuple[DeviceSelector, ...], path: str
) -> Iterator[tuple[str, str]]:
    for index, selector in enumerate(selectors):
        field = f"{path}.selectors[{index}].cel"
        if selector.cel is None:
            yield field, "is missing; no other kind of selector is known"
            continue
        program = compile_selector(selector.cel.expression)
        if isinstance(program, SelectorFailure):
            yield f"{field}.expression", program.text.split("\n", 1)[0]


def _claim_problems(
    spec: ResourceClaimSpec, path: str, state: ClusterState
) -> Iterator[tuple[str, str]]:
    for index, request in enumerate(spec.devices.requests):
        field = f"{path}.devices.requests[{index}]"
        if request.exactly is None and not request.first_available:
            yield field, "has neither exactly nor firstAvailable"
        subrequests: list[tuple[str, DeviceSubRequest]] = [
            (f"{field}.firstAvailable[{number}]", each)
            for number, each in enumerate(request.first_available)
        ]
        if request.exactly is not None:
            subrequests.insert(0, (f"{field}.exactly", request.exactly))
        for request_path, subrequest in subrequests:
            yield from _selector_problems(subrequest.selectors, request_path)
            name = subrequest.device_class_name
            if name not in state.device_classes:
                problem = f'there is no DeviceClass "{name}" in the state'
                yield f"{request_path}.deviceClassName", problem
    for index, constraint in enumerate(spec.devices.constraints):
        if constraint.match_attribute is None and constraint.distinct_attribute is None:
            yield f"{path}.devices.constraints[{index}]", "has no matchAttribute"


def _node_selection_problems(
    resource_slice: ResourceSlice, nodes: set[str], partitionable: bool
) -> Iterator[tuple[str, str]]:
    spec = resource_slice.spec
    if partitionable and (spec.shared_counters or spec.per_device_node_selection):
        return
    if spec.per_device_node_selection is not None and not partitionable:
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


def _pool_problems(slices: list[ResourceSlice], rules: Rules) -> Iterator[tuple[str, str, str]]:
    newest = max(resource_slice.spec.pool.generation for resource_slice in slices)
    current = [each for each in slices if each.spec.pool.generation == newest]
    spec = current[0].spec
    pool = f"{spec.driver}/{spec.pool.name}"
    for resource_slice in slices:
        if resource_slice.spec.pool.generation < newest:
            yield (
                f"ResourceSlice {resource_slice.name}",
                "spec.pool.generation",
                f"{resource_slice.spec.pool.generation} is out of date, pool {pool} is at "
                f"{newest}: its devices do not count where the newer ones are within reach",
            )
    if len(current) != spec.pool.resource_slice_count:
        consequence = "requests for all devices fail"
        if rules.skips_unusable_pools:
            consequence = "none of its devices is handed out"
        yield (
            f"ResourceSlice {current[0].name}",
            "spec.pool.resourceSliceCount",
            f"pool {pool} should have {spec.pool.resource_slice_count} slices of generation "
            f"{newest} and has {len(current)}: {consequence}",
        )
    names: set[str] = set()
    for resource_slice in current:
        for index, device in enumerate(resource_slice.spec.devices):
            if device.name in names:
                yield (
                    f"ResourceSlice {resource_slice.name}",
                    f"spec.devices[{index}].name",
                    f'"{device.name}" appears twice in pool {pool}, which makes it invalid',
                )
            names.add(device.name)

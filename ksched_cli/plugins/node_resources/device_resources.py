"""The two resource plugins where device classes may back extended resources (DRAExtendedResource):
a node without the resource is DynamicResources' to judge, and its devices count in scores.

Upstream: plugins/noderesources (fit.go, shouldDelegateResourceToDRA; resource_allocation.go,
calculateDRAExtendedResourceAllocatableRequest).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.resource_claims import BackingClasses, is_dra_resource_name
from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.helper import Fragments
from ksched_cli.plugins.node_resources.fit import NodeResourcesFit
from ksched_cli.plugins.node_resources.scoring import BalanceChange, ResourceUsage, ScoresResources

# Added to what is left of a resource: no request is more than that.
PLENTY = 1 << 61


class _Delegating(ScoresResources):
    """What the two plugins have in common there."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._handle = handle
        self._backing = handle.service(BackingClasses)

    @cached_property
    def _backed(self) -> dict[int, str]:
        """Return, by index, the classes of the configured resources that have a class, as they are
        once the service has carried over what it heard before."""
        classes = [(spec.name, self._backing.of(spec.name)) for spec in self._resources]
        return {
            index: device_class.name
            for index, (name, device_class) in enumerate(classes)
            if device_class is not None
            and device_class.name in self._handle.cluster.device_classes
            and is_dra_resource_name(name)
        }

    def scope_for(self, pod: PodInfo) -> Scope:
        amounts = pod.resources.requests
        is_counted = any(amounts.get(self._resources[index].name) for index in self._backed)
        return Scope.CLUSTER if is_counted else Scope.ROW

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        return None if self._backing.requested(pod) else super().sign_pod(pod)

    def _usages(self, pod_requests: Sequence[int], nodes: Nodes) -> list[ResourceUsage]:
        """Return the usages of resources. A node's devices of a class count where it has none of a
        resource that the class backs."""
        usages = super()._usages(pod_requests, nodes)
        requested = [(index, name) for index, name in self._backed.items() if pod_requests[index]]
        if not requested:
            return usages
        # Brings the language of selectors along, which few clusters need.
        from ksched_cli.plugins.dynamic_resources.selectors import DeviceCounts

        counts = self._handle.service(DeviceCounts)
        for index, class_name in requested:
            usage = usages[index]
            total, taken = map(nodes.gather, counts.totals(class_name))
            by_devices = (usage.allocatable == 0) & (total > 0)
            usages[index] = replace(
                usage,
                allocatable=np.where(by_devices, total, usage.allocatable),
                requested=np.where(by_devices, taken + pod_requests[index], usage.requested),
            )
        return usages


class DelegatingFit(_Delegating, NodeResourcesFit):
    def delegated(self, pod: PodInfo) -> Collection[str]:
        return self._backing.requested(pod)

    def used(self, pod: PodInfo, nodes: Nodes, resource: str) -> Column:
        used = super().used(pod, nodes, resource)
        if resource not in self._backing.requested(pod):
            return used
        is_absent = nodes.gather(nodes.snapshot.allocatable(resource)) == 0
        return np.where(is_absent, -PLENTY, used)

    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        return None if self._backing.requested(pod) else super().compared_requests(state, pod)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = super().explain_filter(state, pod, node)
        delegated = [n for n in self._backing.requested(pod) if not node.allocatable(n)]
        return [line for line in lines if line.partition(": ")[0] not in delegated]


class DelegatingBalance(_Delegating, BalanceChange):
    def _usages(self, pod_requests: Sequence[int], nodes: Nodes) -> list[ResourceUsage]:
        for index, class_name in self._backed.items():
            device_class = self._handle.cluster.device_classes[class_name]
            is_absent = nodes.gather(nodes.snapshot.allocatable(self._resources[index].name)) == 0
            if pod_requests[index] and device_class.spec.selectors and is_absent.any():
                # Upstream has no cache of selectors here, and panics.
                raise PluginError(f"selectors of device class {class_name}: no CEL cache")
        return super()._usages(pod_requests, nodes)

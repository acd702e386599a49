"""The device class that backs an extended resource: a pod that requests the resource gets devices
of that class where no device plugin offers it.

Upstream: dynamic-resource-allocation/deviceclass/extendedresourcecache/extendedresourcecache.go;
pkg/scheduler/util/utils.go (IsDRAExtendedResourceName).
"""

from __future__ import annotations

from ksched_cli.cluster.objects import DeviceClass
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle
from ksched_cli.kube.field_errors import is_extended_resource_name

# Before the name of a class, the resource that it backs without saying so.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class BackingClasses:
    """A service; it has no classes where the gate DRAExtendedResource is off."""

    def __init__(self, handle: Handle) -> None:
        self._by_resource: dict[str, DeviceClass] = {}
        if not handle.release.enabled("DRAExtendedResource"):
            return
        # Where several classes name one resource, the newest counts, then the first by name.
        classes = sorted(handle.cluster.device_classes.values(), key=lambda c: c.name, reverse=True)
        for device_class in sorted(classes, key=lambda c: c.metadata.creation_timestamp):
            self._by_resource[IMPLICIT_PREFIX + device_class.name] = device_class
            if device_class.spec.extended_resource_name:
                self._by_resource[device_class.spec.extended_resource_name] = device_class

    def __bool__(self) -> bool:
        return bool(self._by_resource)

    def of(self, resource: str) -> DeviceClass | None:
        return self._by_resource.get(resource)

    def requested(self, pod: PodInfo) -> dict[str, int]:
        """The pod's requests of resources that a class backs; empty for most pods."""
        if not self._by_resource:
            return {}
        return {
            name: amount
            for name, amount in pod.resources.others.items()
            if amount and name in self._by_resource and is_dra_resource_name(name)
        }


def may_allocate_devices(pod: PodInfo, handle: Handle) -> bool:
    """Whether the pod has claims, or may get one for its extended resources."""
    return bool(pod.spec.resource_claims or handle.service(BackingClasses).requested(pod))


def is_dra_resource_name(name: str) -> bool:
    return is_extended_resource_name(name) or name.startswith(IMPLICIT_PREFIX)

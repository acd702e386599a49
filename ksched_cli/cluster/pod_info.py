"""A pod with what scheduling derives from it; what depends on the template alone is derived once.

Upstream: pkg/scheduler/framework/types.go (PodInfo), pkg/scheduler/util/utils.go (GetHostPorts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from types import MappingProxyType

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    Pod,
    PodSpec,
    ResourceRequirements,
    Volume,
    encode_hook,
)
from ksched_cli.cluster.resources import (
    CPU,
    MEMORY,
    ZERO,
    PodResources,
    pod_resources,
    resize_is_deferred,
    resources_rule,
    without_pod_level,
)
from ksched_cli.kube.gates import POD_LEVEL_GATE, RESIZE_GATE
from ksched_cli.kube.versions import Release

ANY_HOST = "0.0.0.0"  # nosec B104  # of a port that a pod asks for; nothing listens


class HostPort(Struct, frozen=True):
    """A port that a pod wants on its node's own address."""

    ip: str
    protocol: str
    port: int


BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def _qos_class(resources: ResourceRequirements) -> str:
    """Return the QoS class of a pod with these resources. Upstream: requirementsQOS."""
    classes = set()
    for name in (CPU, MEMORY):
        request, limit = resources.requests.get(name), resources.limits.get(name)
        if (request or ZERO) != (limit or ZERO):
            return BURSTABLE
        classes.add(BEST_EFFORT if (request or ZERO) == ZERO else GUARANTEED)
    return classes.pop() if len(classes) == 1 else BURSTABLE


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Return the host ports of containers that run as long as the pod does."""
    sidecars = [container for container in spec.init_containers if container.is_sidecar]
    return tuple(
        HostPort(port.host_ip or ANY_HOST, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def has_volume_claims(spec: PodSpec) -> bool:
    """Return whether a volume is a claim's, of the pod's own or another."""
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in spec.volumes)


class Template(Struct, frozen=True, eq=False):
    """The common data of all pods of one spec. Compared by identity.

    shape: the spec as JSON without the names of volume claims; None where it has none
    """

    spec: PodSpec
    host_ports: tuple[HostPort, ...]
    shape: bytes | None = None


class PodInfo:
    """A pod in a run. `template` and `resources` may be shared with other pods.

    resources: requests in scheduler units (cpu in milli, everything else in units)
    signature: see PodCatalog
    shape:     the same for pods that differ in nothing but their names and those of their volume
               claims; the signature, if there are no such claims
    is_resized: it runs, and is queued as its node has deferred its resize
    """

    # Attributes rather than properties: they are read many times in every attempt.
    __slots__ = (
        "is_resized",
        "key",
        "name",
        "namespace",
        "pod",
        "priority",
        "resources",
        "shape",
        "signature",
        "spec",
        "template",
        "uid",
    )

    def __init__(
        self,
        pod: Pod,
        template: Template,
        signature: int,
        shape: int,
        resources: PodResources,
        is_resized: bool = False,
    ) -> None:
        meta = pod.metadata
        self.is_resized = is_resized
        self.pod = pod
        self.name, self.namespace, self.uid = meta.name, meta.namespace, meta.uid
        self.key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        self.template = template
        self.spec: PodSpec = template.spec
        self.priority = pod.spec.priority or 0
        self.signature = signature
        self.shape = shape
        self.resources = resources

    @property
    def labels(self) -> Mapping[str, str]:
        """Read-only."""
        return MappingProxyType(self.pod.metadata.labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        """Read-only."""
        return MappingProxyType(self.pod.metadata.annotations)

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Return the host ports that it asks for, each with `ip`, `protocol` and `port`."""
        return self.template.host_ports

    @property
    def qos_class(self) -> str:
        """BestEffort, Burstable or Guaranteed, as the API server computes it from the spec.

        Upstream: pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS).
        """
        spec = self.spec
        if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
            return _qos_class(spec.resources)
        containers = (*spec.init_containers, *spec.containers)
        classes = {_qos_class(container.resources) for container in containers}
        if len(classes) > 1:
            return BURSTABLE
        return classes.pop() if classes else BEST_EFFORT

    def unplaced(self) -> PodInfo:
        """Return the pod as if it were still to be placed."""
        pod, resources = replace(self.pod, node_name=""), self.resources.unplaced or self.resources
        return PodInfo(pod, self.template, self.signature, self.shape, resources)

    def with_pod(self, pod: Pod, resources: PodResources) -> PodInfo:
        """Return the pod with another status, in which it takes these resources of its node."""
        return PodInfo(pod, self.template, self.signature, self.shape, resources)

    def placed(self, node: str) -> PodInfo:
        """Return the pod as if it were on the node."""
        pod = replace(self.pod, node_name=node)
        return PodInfo(pod, self.template, self.signature, self.shape, self.resources)

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


class PodCatalog:
    """Makes PodInfos and shares what can be shared.

    Pods with equal spec, namespace, labels, annotations and owners, all being deleted or none, get
    the same signature: no plugin can tell them apart but by name.

    resources: what a pod takes of its node
    knows_resizes: pods whose resize is deferred are queued
    spec_of: what of a spec matters
    """

    def __init__(
        self,
        resources: Callable[[Pod], PodResources] = pod_resources,
        *,
        knows_resizes: bool = False,
        spec_of: Callable[[PodSpec], PodSpec] | None = None,
    ) -> None:
        self._spec_of = spec_of
        self._resources = resources
        self._knows_resizes = knows_resizes
        self._templates: dict[int, Template] = {}
        # Numbers of signatures and shapes; equal numbers mean equal contents.
        self._ids: dict[object, int] = {}
        # By identity of the pod; None where they are made anew, as most are asked for once.
        self._infos: dict[int, PodInfo] | None = None
        self._earlier: Mapping[int, PodInfo] = {}

    @classmethod
    def of(cls, release: Release) -> PodCatalog:
        """Return the catalog that counts pods as a release does."""
        return cls(
            resources_rule(release),
            knows_resizes=release.enabled(RESIZE_GATE),
            spec_of=None if release.enabled(POD_LEVEL_GATE) else without_pod_level,
        )

    def successor(self, infos: Iterable[PodInfo] = ()) -> PodCatalog:
        """Return the catalog of a state that has most pods of this one's: PodInfos are made for
        the others only. infos: others that were made of pods of the state"""
        catalog = copy(self)
        earlier = {**(self._infos or {}), **{id(info.pod): info for info in infos}}
        catalog._infos, catalog._earlier = {}, earlier  # noqa: SLF001  # a copy's
        return catalog

    def info(self, pod: Pod) -> PodInfo:
        if self._infos is None:
            return self._info(pod)
        info = self._infos.get(id(pod)) or self._earlier.get(id(pod))
        if info is None or info.pod is not pod:
            info = self._info(pod)
        self._infos[id(pod)] = info
        return info

    def _info(self, pod: Pod) -> PodInfo:
        template = self._templates.get(id(pod.spec))
        if template is None:
            spec = pod.spec if self._spec_of is None else self._spec_of(pod.spec)
            template = Template(spec, host_ports(spec), _shape(spec))
            self._templates[id(pod.spec)] = template
        meta = pod.metadata
        is_resized = self._knows_resizes and resize_is_deferred(pod)
        owners: tuple[object, ...] = ()
        if meta.owner_references:
            owners = tuple(
                (owner.api_version, owner.kind, owner.name, owner.controller)
                for owner in meta.owner_references
            )
        rest = (
            meta.namespace,
            _pairs(meta.labels),
            _pairs(meta.annotations) if meta.annotations else (),
            owners,
            bool(meta.deletion_timestamp),
            # What a pod has already that is to be resized is its own.
            meta.uid if is_resized else "",
        )
        ids = self._ids
        signature = shape = ids.setdefault((id(pod.spec), rest), len(ids))
        if template.shape is not None:
            shape = ids.setdefault((template.shape, rest), len(ids))
        return PodInfo(pod, template, signature, shape, self._resources(pod), is_resized)


def _shape(spec: PodSpec) -> bytes | None:
    """Return the spec without the names of volume claims; None if it has none."""
    if not any(volume.persistent_volume_claim for volume in spec.volumes):
        return None
    volumes = tuple(map(_without_claim_name, spec.volumes))
    return msgspec.json.encode(replace(spec, volumes=volumes), enc_hook=encode_hook)


def _without_claim_name(volume: Volume) -> Volume:
    claim = volume.persistent_volume_claim
    if claim is None:
        return volume
    return replace(volume, persistent_volume_claim=replace(claim, claim_name=""))


def _pairs(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the same for equal maps."""
    return tuple(sorted(labels.items())) if len(labels) > 1 else tuple(labels.items())

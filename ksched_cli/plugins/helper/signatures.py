"""The parts of a pod that several plugins sign. In what order a pod lists its tolerations, ports or
terms makes no difference.

Upstream: kube-scheduler/framework/signers.go.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import msgspec

from ksched_cli.cluster.objects import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import is_scalar_resource
from ksched_cli.kube.plain_json import typed_json

Fragments = Mapping[str, Hashable]


class _Spec(msgspec.Struct):
    volumes: tuple[dict[str, Any], ...] = ()


class _Volumes(msgspec.Struct):
    """The volumes of a pod's JSON with all of their sources, also those that no plugin reads."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def sign_tolerations(pod: PodInfo) -> Fragments:
    tolerations = sorted(pod.spec.tolerations, key=lambda t: (t.key, t.value))
    return {"tolerations": tuple(tolerations)}


def sign_requests(pod: PodInfo) -> Fragments:
    """Upstream has fields for cpu, memory and ephemeral storage, in which none is zero."""
    requests = pod.resources.requests.items()
    counted = ((name, amount) for name, amount in requests if amount or is_scalar_resource(name))
    return {"requests": tuple(sorted(counted))}


def sign_host_ports(pod: PodInfo) -> Fragments:
    """The numbers alone, of all containers."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    ports = {port.host_port for container in containers for port in container.ports}
    return {"hostPorts": tuple(sorted(ports - {0}))}


def sign_node_affinity(pod: PodInfo) -> Fragments:
    affinity = pod.spec.affinity
    own_affinity = None if affinity is None else affinity.node_affinity
    return {
        "nodeAffinity": None if own_affinity is None else _node_affinity(own_affinity),
        "nodeSelector": tuple(sorted(pod.spec.node_selector.items())),
    }


def _node_affinity(affinity: NodeAffinity) -> Hashable:
    required = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return (
        tuple(sorted(map(_term, () if required is None else required.node_selector_terms))),
        tuple(sorted((term.weight, _term(term.preference)) for term in preferred)),
    )


def _term(term: NodeSelectorTerm) -> tuple[Any, ...]:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[NodeSelectorRequirement]) -> tuple[Any, ...]:
    return tuple(sorted((r.key, r.operator, tuple(sorted(r.values))) for r in requirements))


def sign_volumes(pod: PodInfo) -> Fragments:
    """The sources alone, without config maps and secrets, which many pods have of their own."""
    if not pod.spec.volumes:
        return {"volumes": ()}
    raw = bytes(pod.pod.raw)
    if raw:
        volumes = typed_json(raw, _Volumes).spec.volumes or ()
    else:
        volumes = tuple(msgspec.to_builtins(volume) for volume in pod.spec.volumes)
    sources = [{key: value for key, value in v.items() if key != "name"} for v in volumes]
    signed = [json.dumps(s, sort_keys=True) for s in sources if not s.keys() & _UNSIGNED]
    return {"volumes": tuple(sorted(signed))}


_UNSIGNED = {"configMap", "secret"}

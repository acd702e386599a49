"""What several in-tree plugins share: extension points, hints, proposals, signatures of pods."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np

from ksched_cli.cluster.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolumeClaim,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import is_scalar_resource
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD,
    POD,
    TARGET_POD,
    Action,
    ClusterEvent,
    QueueingHint,
    Registration,
)
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    Explains,
    FilterPlugin,
    NormalizeScore,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.results import Mask, Scores
from ksched_cli.framework.status import Status
from ksched_cli.kube.int64 import divide
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.volumes import claim_uses

PreFiltered: TypeAlias = tuple[PreFilterResult | None, Status]
"""What PreFilter returns."""


class FilteringPlugin(PreFilterPlugin, FilterPlugin, SignPlugin, Explains):
    """The extension points of most plugins that reject nodes."""


class ScoringPlugin(PreScorePlugin, ScorePlugin, NormalizeScore):
    """The extension points of most plugins that rank nodes."""


# -- hints -----------------------------------------------------------------------------------------


def had_node(pod: PodInfo) -> bool:
    """Return whether a pod that is gone had a node, or was nominated for one."""
    return bool(pod.pod.node_name or pod.pod.status.nominated_node_name)


def pod_registrations(actions: Action, hint: QueueingHint, rules: Rules) -> Iterator[Registration]:
    """Register for events of other pods and of the rejected one. Upstream: EventsToRegister of
    PodTopologySpread and InterPodAffinity."""
    for resource in (POD,) if rules.hears_of_unscheduled_pods else (ASSIGNED_POD, TARGET_POD):
        yield ClusterEvent(resource, actions), hint


def refers_to(pod: PodInfo, claim: PersistentVolumeClaim, ephemeral: bool = False) -> bool:
    """Return whether one of the pod's volumes is the claim's. ephemeral: those made for the pod
    count."""
    return pod.namespace == claim.namespace and any(
        use.claim == claim.name for use in claim_uses(pod.pod) if ephemeral or not use.ephemeral
    )


# -- proposals -------------------------------------------------------------------------------------

MOST_NAMED = 3


def may_make_room(other: PodInfo, pod: PodInfo) -> bool:
    """Return whether the other pod, evicted, does not come back before the pod has its place: one
    of a higher priority does, and so do those of DaemonSets and static ones."""
    is_of_node = other.pod.owner[0] in ("DaemonSet", "Node")
    stays = is_of_node or other.pod.is_mirror or other.pod.deleting
    return other.priority <= pod.priority and not stays


def listed(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    rest = len(names) - MOST_NAMED
    first = [*names[:MOST_NAMED], *([f"{rest} more"] if rest > 0 else [])]
    return " and ".join(filter(None, (", ".join(first[:-1]), *first[-1:])))


def named(pods: Sequence[PodInfo]) -> str:
    """Return the keys of the first pods, and the number of the others."""
    return listed([pod.key for pod in pods])


def clauses_by_row(count: int, subject: str, clauses: Iterable[tuple[Mask, str]]) -> list[str]:
    """Return per row the subject with those of the clauses that hold there, as "subject (clause,
    clause)"; "" where none does.

    count: how many rows there are; clauses: each with the rows where it holds
    """
    held: list[list[str]] = [[] for _ in range(count)]
    for holds, clause in clauses:
        for position in holds.nonzero()[0].tolist():
            held[position].append(clause)
    return [f"{subject} ({', '.join(each)})" if each else "" for each in held]


def eviction(text: str, pods: Sequence[PodInfo]) -> Proposal:
    keys = tuple(pod.key for pod in pods)
    return Proposal("evict", text, evicts=keys, amount=len(pods))


def applied(version: str, kind: str, metadata: Mapping[str, str], others: Mapping[str, Any]) -> str:
    """Return the change that applies an object. others: its other fields"""
    manifest = {"apiVersion": version, "kind": kind, "metadata": metadata, **others}
    return f"apply -f '{json.dumps(manifest, separators=(',', ':'))}'"


# -- scores ----------------------------------------------------------------------------------------
#
# Scales raw scores to 0 to 100 by the highest of them.
#
# Upstream: plugins/helper/normalize_score.go (DefaultNormalizeScore).


def default_normalize_score(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scale the scores so that the highest becomes 100. Scores that are all negative stay as they
    are.

    reverse: the highest raw score becomes 0
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64) if reverse else scores
    scaled = scores * MAX_NODE_SCORE
    # Negative weights, which no API server accepts, are divided as Go divides: towards zero.
    scaled = divide(scaled, highest) if scores.item(scores.argmin()) < 0 else scaled // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled


# -- signatures ------------------------------------------------------------------------------------
#
# The parts of a pod that several plugins sign. In what order a pod lists its tolerations, ports or
# terms makes no difference.
#
# Upstream: kube-scheduler/framework/signers.go.


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
    """Sign the pod's requests. Upstream has fields for cpu, memory and ephemeral storage, in which
    none is zero."""
    requests = pod.resources.requests.items()
    counted = ((name, amount) for name, amount in requests if amount or is_scalar_resource(name))
    return {"requests": tuple(sorted(counted))}


def sign_host_ports(pod: PodInfo) -> Fragments:
    """Return the numbers alone, of all containers."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    ports = {port.host_port for container in containers for port in container.ports}
    return {"hostPorts": tuple(sorted(ports - {0}))}


def sign_node_affinity(pod: PodInfo) -> Fragments:
    affinity = pod.spec.affinity
    own_affinity = None if affinity is None else affinity.node_affinity
    terms: Hashable = None
    if own_affinity is not None:
        required = own_affinity.required_during_scheduling_ignored_during_execution
        preferred = own_affinity.preferred_during_scheduling_ignored_during_execution
        terms = (
            tuple(sorted(map(_term, () if required is None else required.node_selector_terms))),
            tuple(sorted((term.weight, _term(term.preference)) for term in preferred)),
        )
    return {
        "nodeAffinity": terms,
        "nodeSelector": tuple(sorted(pod.spec.node_selector.items())),
    }


def _term(term: NodeSelectorTerm) -> tuple[Any, ...]:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[NodeSelectorRequirement]) -> tuple[Any, ...]:
    return tuple(sorted((r.key, r.operator, tuple(sorted(r.values))) for r in requirements))


def sign_volumes(pod: PodInfo) -> Fragments:
    """Return the sources alone, without config maps and secrets, which many pods have of their
    own."""
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

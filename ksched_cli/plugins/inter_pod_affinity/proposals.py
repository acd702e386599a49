"""What would make a node meet required pod affinity and anti-affinity: fewer terms, or fewer pods
in the way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ksched_cli.cluster.objects import plain_fields
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.helper.evictions import may_make_room, named

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def proposals(
    pod: PodInfo,
    node: NodeInfo,
    is_far: bool,
    avoided: Collection[int],
    is_avoided: bool,
    conflicting: Sequence[PodInfo],
) -> Iterator[Proposal]:
    """is_far: no pod is there that the pod's affinity requires; avoided: the indices of its terms
    of anti-affinity that the node violates; is_avoided: pods that avoid the pod are there;
    conflicting: the pods that it avoids or that avoid it, in the node's domains"""
    if conflicting and not is_far and all(may_make_room(other, pod) for other in conflicting):
        text = f"evict {named(conflicting)}, which must not share {node.name}'s domain with it"
        keys = tuple(other.key for other in conflicting)
        yield Proposal("evict", text, evicts=keys, amount=len(conflicting))
    if is_avoided:
        return
    affinity: dict[str, Any] = {}
    texts = []
    own = pod.spec.affinity
    if is_far:
        affinity["podAffinity"] = {REQUIRED: None}
        terms = (
            own.pod_affinity.required_during_scheduling_ignored_during_execution
            if (own and own.pod_affinity)
            else ()
        )
        keys_text = ", ".join(term.topology_key for term in terms)
        texts.append(f"do not require its pod affinity by {keys_text}")
    if avoided and own and own.pod_anti_affinity:
        anti = own.pod_anti_affinity.required_during_scheduling_ignored_during_execution
        other_terms = [
            plain_fields(term) for index, term in enumerate(anti) if index not in avoided
        ]
        affinity["podAntiAffinity"] = {REQUIRED: other_terms or None}
        lifted = ", ".join(anti[index].topology_key for index in sorted(avoided))
        texts.append(f"do not require its anti-affinity by {lifted}")
    patch = {"spec": {"affinity": affinity}}
    yield Proposal("affinity", " and ".join(texts), patch=patch, amount=len(texts))

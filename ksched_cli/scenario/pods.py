"""Pods that leave their nodes: pending again, or gone; and what follows for budgets and claims.

What follows is what the controllers do: the disruption controller counts healthy pods again, the
resource claim controller takes back what nobody reserves any more, claims of ephemeral volumes go
with their pods, the attach/detach controller detaches what no pod of a node uses any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from operator import attrgetter

import msgspec
from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import (
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeStatus,
    Pod,
    PodDisruptionBudget,
)
from ksched_cli.cluster.objects.base import ObjectMeta, plain_fields
from ksched_cli.cluster.objects.pod import PENDING_AGAIN, PodResourceClaimStatus
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.selectors import IN, Selector, SelectorError, label_selector
from ksched_cli.kube.time import readable_time

# -- passes over all pods -------------------------------------------------------------------------
# Selects some of a state's pods, or replaces them, in passes over all pods that run in C.
#
# A state may have 150,000 pods of which a change concerns a few: loops in Python over all of them
# would take most of a change's time.


Pods = tuple[Pod, ...]

_node_name = attrgetter("node_name")
_name = attrgetter("metadata.name")
_namespace = attrgetter("metadata.namespace")
_labels = attrgetter("metadata.labels")
_created = attrgetter("metadata.creation_timestamp")
_HEARTBEAT = re.compile(rb'"lastHeartbeatTime"\s*:\s*"([^"]+)"')


def select_by_id(pods: Pods, ids: Collection[int]) -> list[Pod]:
    """Select those with these identities, in order. ids: a set or a dict"""
    return list(compress(pods, map(ids.__contains__, map(id, pods))))


def select_on_nodes(pods: Pods, nodes: Collection[str]) -> list[Pod]:
    """Select those bound to these nodes. nodes: a set or a dict"""
    return list(compress(pods, map(nodes.__contains__, map(_node_name, pods))))


def select_by_name(pods: Pods, names: Collection[str]) -> list[Pod]:
    """Select those with these names, of every namespace. names: a set or a dict"""
    return list(compress(pods, map(names.__contains__, map(_name, pods))))


def select_by_labels(pods: Pods, selector: Selector) -> list[Pod]:
    """Select those that the selector matches; labels that pods share are looked at once."""
    labels = list(map(_labels, pods))
    distinct = dict(zip(map(id, labels), labels, strict=True))
    matching = {identity for identity, each in distinct.items() if selector.matches(each)}
    return list(compress(pods, map(matching.__contains__, map(id, labels))))


def replace_pods(
    pods: Pods, replacements: Mapping[int, Pod | None], added: Iterable[Pod] = ()
) -> Pods:
    """Return the pods with others in their places, and more at the end.

    replacements: identity of a pod → what takes its place, None for nothing
    """
    replaced = map(replacements.get, map(id, pods), pods)
    return (*filter(None, replaced), *added)


def names_in(pods: Pods, namespace: str) -> set[str]:
    """Return the names of the namespace's pods."""
    return set(compress(map(_name, pods), map(namespace.__eq__, map(_namespace, pods))))


def newest_timestamp(pods: Pods) -> str:
    """Return the latest creation of a pod, or ""."""
    return max(map(_created, pods), default="")


def time_of(state: ClusterState) -> str:
    """Return when the state was read, as far as it shows: the latest heartbeat of a node or
    creation of a pod."""
    heartbeats = (text for node in state.nodes for text in _HEARTBEAT.findall(bytes(node.raw)))
    times = (readable_time(text.decode()) for text in heartbeats)
    return max(newest_timestamp(state.pods), max(times, default=""))


# What the volume controller, and VolumeBinding, note on a claim.
_OF_BINDING = frozenset(
    (
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.kubernetes.io/selected-node",
    )
)


# -- pods that leave ------------------------------------------------------------------------------


def is_ready(pod: Pod) -> bool:
    """Return whether the pod's Ready condition is true. Upstream: podutil.IsPodReady."""
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)


def is_static(pod: Pod) -> bool:
    """Return whether the pod is a node's own, of which the API server has only a mirror."""
    return pod.is_mirror or is_owned_by(pod, "Node")


def is_owned_by(pod: Pod, kind: str) -> bool:
    return pod.owner[0] == kind


def is_of_daemon_set(pod: Pod) -> bool:
    return is_owned_by(pod, "DaemonSet")


def moved(pods: Iterable[Pod], action: str = "pending again") -> list[Effect]:
    """Return the effects of an action on pods, with the places that they had."""
    return [
        Effect(pod.key, action, f"was on {pod.node_name}" if pod.node_name else "was pending")
        for pod in pods
    ]


def is_running(pod: Pod) -> bool:
    """Return whether the pod holds room on a node and may hold it further."""
    return bool(pod.node_name) and not pod.finished and not pod.deleting


def pending_pod(pod: Pod) -> Pod:
    """Return the pod as its controller recreates it, at the same time. Its claims keep their
    names."""
    return _anew(pod, structs.replace(pod.metadata, deletion_timestamp=""))


def _anew(pod: Pod, metadata: ObjectMeta) -> Pod:
    new = Pod(metadata, pod.spec, PENDING_AGAIN, "", pod.raw)
    statuses = pod.status.resource_claim_statuses
    return with_claim_statuses(new, statuses) if statuses else new


def with_claim_statuses(pod: Pod, statuses: tuple[PodResourceClaimStatus, ...]) -> Pod:
    """Return the pod with a status that names these claims, in its JSON too."""
    # Not with `edited`: the status of a pod that is pending again takes the place of all that the
    # JSON has, which no merge patch says.
    raw = pod.raw
    if bytes(raw):
        plain = plain_json(raw)
        before = {"phase": "Pending"} if pod.status is PENDING_AGAIN else plain.get("status")
        plain["status"] = {**(before or {}), "resourceClaimStatuses": plain_fields(statuses)}
        raw = msgspec.Raw(msgspec.json.encode(plain))
    status = structs.replace(pod.status, resource_claim_statuses=statuses)
    return structs.replace(pod, status=status, raw=raw)


def pending_again(state: ClusterState, pods: Collection[Pod]) -> ClusterState:
    """Return the state with these pods recreated by their controllers: the last in the queue, in
    the order in which they were queued before."""
    if not pods:
        return state
    newest = newest_timestamp(state.pods)
    ordered = sorted(pods, key=lambda pod: pod.metadata.creation_timestamp)
    renewed = (recreated(pod, newest) for pod in ordered)
    changed = replace_pods(state.pods, dict.fromkeys(map(id, pods)), renewed)
    return _after_leaving(replace(state, pods=changed), pods, pending_again=True)


def unbound(state: ClusterState, pods: Collection[Pod]) -> ClusterState:
    """Return the state with these pods pending, each at its place in the queue."""
    renewed = {id(pod): recreated(pod, pod.metadata.creation_timestamp) for pod in pods}
    changed = replace_pods(state.pods, renewed)
    return _after_leaving(replace(state, pods=changed), pods, pending_again=True)


def without_pods(state: ClusterState, pods: Collection[Pod]) -> ClusterState:
    """Return the state without these pods."""
    if not pods:
        return state
    remaining = replace_pods(state.pods, dict.fromkeys(map(id, pods)))
    return _after_leaving(replace(state, pods=remaining), pods, pending_again=False)


def recreated(pod: Pod, created: str) -> Pod:
    metadata = pod.metadata
    if metadata.creation_timestamp != created:
        metadata = structs.replace(metadata, creation_timestamp=created)
    return _anew(pod, metadata)


def _after_leaving(
    state: ClusterState, pods: Collection[Pod], *, pending_again: bool
) -> ClusterState:
    """Return the state with what the pods used released.

    pending_again: the pods are pending now, and the claims made for them stay
    """
    # Budgets count healthy pods. Upstream: pkg/controller/disruption (trySync).
    budgets = dict(state.pod_disruption_budgets)
    healthy = [pod for pod in pods if is_ready(pod)] if budgets else []
    for key, budget in budgets.items():
        lost = sum(map(budget_matcher(budget), healthy))
        if lost:
            budgets[key] = with_counts(
                budget,
                current_healthy=max(0, budget.status.current_healthy - lost),
                disruptions_allowed=max(0, budget.status.disruptions_allowed - lost),
            )
    # A claim that nobody reserves is deallocated; one that was made for a pod is deleted with it.
    # Upstream: pkg/controller/resourceclaim (syncClaim).
    claims = dict(state.resource_claims)
    uids = {pod.uid for pod in (pods if claims else ())}
    for name, claim in state.resource_claims.items():
        owner = claim.metadata.controller
        if owner is not None and owner.kind == "Pod" and owner.uid in uids and not pending_again:
            del claims[name]
            continue
        reserved = tuple(user for user in claim.status.reserved_for if user.uid not in uids)
        if len(reserved) < len(claim.status.reserved_for):
            allocation = claim.status.allocation if reserved else None
            status = structs.replace(claim.status, reserved_for=reserved, allocation=allocation)
            claims[name] = structs.replace(claim, status=status)
    # Volumes that no pod of the node uses any more are detached. Upstream:
    # pkg/controller/volume/attachdetach.
    attachments = state.volume_attachments
    if attachments:
        nodes = {pod.node_name for pod in pods if pod.node_name}
        there = [pod for pod in select_on_nodes(state.pods, nodes) if not pod.finished]
        unused = {(pod.node_name, volume) for pod in pods for volume in _volumes_of(state, pod)}
        unused -= {(pod.node_name, volume) for pod in there for volume in _volumes_of(state, pod)}
        attachments = {
            name: attachment
            for name, attachment in attachments.items()
            if (attachment.spec.node_name, attachment.spec.source.persistent_volume_name)
            not in unused
        }
    return replace(
        _without_ephemeral_volumes(state, pods, pending_again=pending_again),
        pod_disruption_budgets=budgets,
        resource_claims=claims,
        volume_attachments=attachments,
    )


def with_counts(budget: PodDisruptionBudget, **counts: int) -> PodDisruptionBudget:
    """Return the budget with other counts in its status."""
    return structs.replace(budget, status=structs.replace(budget.status, **counts))


def budget_matcher(budget: PodDisruptionBudget) -> Callable[[Pod], bool]:
    """Return a function that says whether the budget selects a pod; an invalid selector selects
    none."""
    namespace = budget.namespace
    try:
        selector = label_selector(budget.spec.selector)
    except SelectorError:
        return lambda _: False

    def matches(pod: Pod) -> bool:
        metadata = pod.metadata
        return metadata.namespace == namespace and selector.matches(metadata.labels)

    return matches


class PodsByLabel:
    """Pods by their labels, so that a selector is asked only about those that have one of its."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._by_namespace: dict[str, list[Pod]] = {}
        self._by_label: dict[tuple[str, str, str], list[Pod]] = {}
        for pod in pods:
            self._by_namespace.setdefault(pod.namespace, []).append(pod)
            for label, value in pod.metadata.labels.items():
                self._by_label.setdefault((pod.namespace, label, value), []).append(pod)

    def of_budget(self, budget: PodDisruptionBudget) -> list[Pod]:
        """Return the pods that the budget is about."""
        namespace, candidates = budget.namespace, self._by_namespace.get(budget.namespace, [])
        with suppress(SelectorError):
            for requirement in label_selector(budget.spec.selector).requirements:
                if requirement.operator == IN:
                    labelled = [
                        pod
                        for value in dict.fromkeys(requirement.values)
                        for pod in self._by_label.get((namespace, requirement.key, value), ())
                    ]
                    candidates = min(candidates, labelled, key=len)
        return [*filter(budget_matcher(budget), candidates)]


def _without_ephemeral_volumes(
    state: ClusterState, pods: Iterable[Pod], *, pending_again: bool
) -> ClusterState:
    """Return the state without the claims that were made for the pods' ephemeral volumes, and
    without the volumes bound to them. A pod that is pending again has new claims."""
    claims, volumes = dict(state.persistent_volume_claims), dict(state.persistent_volumes)
    is_changed = False
    for pod in pods:
        for volume in pod.spec.volumes:
            key = pod.namespace, f"{pod.name}-{volume.name}"
            claim = claims.get(key) if volume.ephemeral is not None else None
            owner = None if claim is None else claim.metadata.controller
            if claim is None or owner is None or owner.uid != pod.uid:
                continue
            is_changed = True
            del claims[key]
            if pending_again:
                new = unbound_claim(claim)
                metadata = structs.replace(new.metadata, uid="")
                claims[key] = structs.replace(new, metadata=metadata)
            bound = volumes.get(claim.spec.volume_name)
            if bound is None:
                continue
            # The volume whose claim is gone is deleted or released. Upstream:
            # pkg/controller/volume/persistentvolume (reclaimVolume).
            if bound.spec.persistent_volume_reclaim_policy == "Delete":
                del volumes[bound.name]
            elif bound.spec.claim_ref is not None:
                # It belongs to the former claim for ever, whatever the name of the next one.
                former = structs.replace(bound.spec.claim_ref, uid=claim.uid or claim.key)
                volumes[bound.name] = structs.replace(
                    bound,
                    spec=structs.replace(bound.spec, claim_ref=former),
                    status=PersistentVolumeStatus("Released"),
                )
    if not is_changed:
        return state
    return replace(state, persistent_volume_claims=claims, persistent_volumes=volumes)


def unbound_claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """Return the claim as it was before it was bound, or before a node was selected for it."""
    annotations = claim.metadata.annotations
    remaining = {key: value for key, value in annotations.items() if key not in _OF_BINDING}
    return structs.replace(
        claim,
        metadata=structs.replace(claim.metadata, annotations=remaining),
        spec=structs.replace(claim.spec, volume_name=""),
        status=PersistentVolumeClaimStatus(),
    )


def _volumes_of(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Yield the PersistentVolumes of the pod's claims."""
    for volume in pod.spec.volumes:
        name = f"{pod.name}-{volume.name}" if volume.ephemeral else ""
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        claim = state.persistent_volume_claims.get((pod.namespace, name))
        if claim is not None and claim.spec.volume_name:
            yield claim.spec.volume_name

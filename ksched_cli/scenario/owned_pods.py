"""A state's pods by the workload they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field, structs

from ksched_cli.cluster.objects import LabelSelector, Pod
from ksched_cli.kube.selectors import SelectorError, label_selector
from ksched_cli.scenario.pods import select_by_id

WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""

# The kind of owner of a pod without a controller.
POD = "Pod"
WORKLOADS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ReplicationController",
)
HASH_LABEL = "pod-template-hash"

# Where more than one pod of so many differs, the index is made anew.
MIN_SHARED = 10


def deployment_of(pod: Pod) -> str:
    """Return the name of the Deployment that owns the pod's ReplicaSet, or ""."""
    kind, replica_set = pod.owner
    template_hash = pod.metadata.labels.get(HASH_LABEL, "")
    if kind != "ReplicaSet" or not template_hash:
        return ""
    name, _, end = replica_set.rpartition("-")
    return name if end == template_hash else ""


def owner_of(pod: Pod) -> str:
    """Return Kind/name of what manages the pod, of a Deployment where its ReplicaSet is."""
    kind, name = pod.owner
    if deployment := deployment_of(pod):
        return f"Deployment/{deployment}"
    return f"{kind}/{name}" if kind else f"{POD}/{pod.name}"


class OwnedPods(Struct):
    """A state's pods by what they belong to, each group in the order of the state. Read-only.

    active:  neither finished nor being deleted; a deployment's too
    ended:   finished
    orphans: active pods without a controller, by namespace
    deleted: being deleted
    """

    active: dict[WorkloadKey, list[Pod]] = field(default_factory=dict)
    ended: dict[WorkloadKey, list[Pod]] = field(default_factory=dict)
    orphans: dict[str, list[Pod]] = field(default_factory=dict)
    deleted: dict[WorkloadKey, list[Pod]] = field(default_factory=dict)

    @classmethod
    def of(cls, pods: tuple[Pod, ...]) -> OwnedPods:
        return _index.owned_pods(pods)

    def all_of(self, chosen: Callable[[WorkloadKey], bool]) -> Iterator[Pod]:
        """Yield the active, ended and deleted pods of the workloads chosen."""
        for groups in (self.active, self.ended, self.deleted):
            for key, pods in groups.items():
                if chosen(key):
                    yield from pods

    def adopted(self, namespace: str, selector: LabelSelector | None) -> list[Pod]:
        """Return the orphans that a controller with this selector would take over."""
        orphans = self.orphans.get(namespace)
        if not orphans:
            return []
        try:
            matches = label_selector(selector).matches
        except SelectorError:
            return []
        return [pod for pod in orphans if matches(pod.metadata.labels)]


def group_pods(pods: Iterable[Pod]) -> OwnedPods:
    """Group pods by their controllers.

    pods: in the order of the state
    """
    owned = OwnedPods()
    deployments: dict[tuple[str, str], str] = {}
    for pod in pods:
        metadata = pod.metadata
        owner = metadata.controller
        if owner is None:
            if not metadata.deletion_timestamp and not pod.finished:
                owned.orphans.setdefault(metadata.namespace, []).append(pod)
            continue
        groups = owned.ended if pod.finished else owned.active
        if metadata.deletion_timestamp:
            groups = owned.deleted
        groups.setdefault((metadata.namespace, owner.kind, owner.name), []).append(pod)
        if owner.kind == "ReplicaSet":
            look = (owner.name, metadata.labels.get(HASH_LABEL, ""))
            deployment = deployments.get(look)
            if deployment is None:
                deployment = deployments[look] = deployment_of(pod)
            if deployment:
                groups.setdefault((metadata.namespace, "Deployment", deployment), []).append(pod)
    return owned


class _Index:
    """The pods asked about last, in groups. Changes ask about one state after the other that share
    most of their pods: only the groups of those that differ are made anew."""

    def __init__(self) -> None:
        self._pods: tuple[Pod, ...] = ()
        self._ids: set[int] = set()
        self._owned = OwnedPods()

    def owned_pods(self, pods: tuple[Pod, ...]) -> OwnedPods:
        if pods is not self._pods:
            ids = set(map(id, pods))
            joining_ids, leaving_ids = ids - self._ids, self._ids - ids
            if len(joining_ids) * MIN_SHARED > len(pods):
                self._owned = group_pods(pods)
            else:
                # Pods that join have their place among those that stay.
                joining = group_pods(select_by_id(pods, joining_ids) if joining_ids else ())
                leaving = group_pods(select_by_id(self._pods, leaving_ids) if leaving_ids else ())
                parts = map(structs.astuple, (self._owned, leaving, joining))
                groups = zip(*parts, strict=True)
                self._owned = OwnedPods(*(_regrouped(pods, leaving_ids, *each) for each in groups))
            self._pods, self._ids = pods, ids
        return self._owned


def _regrouped(
    pods: tuple[Pod, ...],
    leaving_ids: set[int],
    groups: dict[Any, list[Pod]],
    leaving: Mapping[Any, list[Pod]],
    joining: Mapping[Any, list[Pod]],
) -> dict[Any, list[Pod]]:
    """Return the groups after pods left and joined, each in the order of the state.

    pods:        of the state after
    leaving_ids: identities of those that it no longer has
    """
    groups = dict(groups)
    members = {
        key: [pod for pod in groups.pop(key, ()) if id(pod) not in leaving_ids]
        for key in {**leaving, **joining}
    }
    for key, own in joining.items():
        members[key] += own
    moved = {id(pod) for key in joining for pod in members[key]}
    ordered = select_by_id(pods, moved) if moved else ()
    position = {id(pod): index for index, pod in enumerate(ordered)}
    for key in joining:
        members[key].sort(key=lambda pod: position[id(pod)])
    return groups | {key: own for key, own in members.items() if own}


_index = _Index()

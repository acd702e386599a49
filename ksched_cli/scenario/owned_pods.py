"""A state's pods by the workload they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ksched_cli.cluster.objects import LabelSelector, Pod
from ksched_cli.kube.selectors import SelectorError, label_selector

WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""

HASH_LABEL = "pod-template-hash"


def deployment_of(pod: Pod) -> str:
    """The name of the deployment that the pod's ReplicaSet is of, "" where it is of none."""
    owner = pod.metadata.controller
    template_hash = pod.metadata.labels.get(HASH_LABEL, "")
    if owner is None or owner.kind != "ReplicaSet" or not template_hash:
        return ""
    name, _, end = owner.name.rpartition("-")
    return name if end == template_hash else ""


@dataclass(slots=True)
class OwnedPods:
    """A state's pods by what they belong to.

    active:  neither finished nor being deleted; a deployment's too
    ended:   finished
    orphans: active pods without a controller, by namespace
    """

    active: dict[WorkloadKey, list[Pod]] = field(default_factory=dict)
    ended: dict[WorkloadKey, list[Pod]] = field(default_factory=dict)
    orphans: dict[str, list[Pod]] = field(default_factory=dict)

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> OwnedPods:
        owned = cls()
        for pod in pods:
            owner = pod.metadata.controller
            if pod.deleting:
                continue
            if owner is None:
                if not pod.finished:
                    owned.orphans.setdefault(pod.namespace, []).append(pod)
                continue
            group = owned.ended if pod.finished else owned.active
            group.setdefault((pod.namespace, owner.kind, owner.name), []).append(pod)
            deployment = deployment_of(pod)
            if deployment:
                key = (pod.namespace, "Deployment", deployment)
                group.setdefault(key, []).append(pod)
        return owned

    def adopted(self, namespace: str, selector: LabelSelector | None) -> list[Pod]:
        """The orphans that a controller with this selector would take over."""
        orphans = self.orphans.get(namespace)
        if not orphans:
            return []
        try:
            matches = label_selector(selector).matches
        except SelectorError:
            return []
        return [pod for pod in orphans if matches(pod.metadata.labels)]

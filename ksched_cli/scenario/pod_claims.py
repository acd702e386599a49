"""The claims that controllers make for pods: ResourceClaims of templates, and the
PersistentVolumeClaims of generic ephemeral volumes.

Upstream: pkg/controller/resourceclaim (syncPod, handleClaim) and pkg/controller/volume/ephemeral
(handleVolume).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec import structs

from ksched_cli.cluster.objects import PersistentVolumeClaim, Pod, ResourceClaim
from ksched_cli.cluster.objects.base import ObjectMeta, OwnerReference
from ksched_cli.cluster.objects.devices import ResourceClaimTemplateSpec
from ksched_cli.cluster.objects.pod import (
    PENDING_AGAIN,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSpec,
)
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.scenario.pods import replace_pods, select_on_nodes, with_claim_statuses

# On a ResourceClaim, the name of the reference of the pod that it was made for.
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
# How long a claim's generateName may be; a longer one is cut in proportion.
_MAX_BASE = 57


def has_own_claims(spec: PodSpec) -> bool:
    """Return whether controllers make claims for a pod of this spec alone."""
    return any(each.resource_claim_template_name for each in spec.resource_claims) or any(
        volume.ephemeral for volume in spec.volumes
    )


def awaits_claims(pod: Pod) -> bool:
    """Return whether controllers have yet to make the pod's claims. If the API server has given the
    pod a UID, they have seen it: what they did not make they could not make."""
    is_new = pod.uid in ("", pod.key) or pod.status is PENDING_AGAIN
    return is_new and has_own_claims(pod.spec) and not pod.finished and not pod.deleting


def make_claims(state: ClusterState) -> tuple[ClusterState, list[Pod]]:
    """Return the state with the claims that its pods without a node lack, and these pods."""
    if not state.makes_claims:
        return state, []
    maker = ClaimMaker(state)
    changed: dict[int, Pod | None] = {}
    for pod in select_on_nodes(state.pods, {""}):
        if awaits_claims(pod):
            owner = maker.owner(pod)
            changed |= {} if owner is pod else {id(pod): owner}
    if not changed and not maker.owners:
        return state, []
    return replace(maker.with_claims(), pods=replace_pods(state.pods, changed)), maker.owners


@dataclass(slots=True)
class ClaimMaker:
    """Makes the claims that pods lack.

    owners: the pods that it made some for
    like: a pod whose claims are the models where a template is not in the state
    """

    state: ClusterState
    like: Pod | None = None
    owners: list[Pod] = field(default_factory=list)
    resource_claims: dict[Key, ResourceClaim] = field(default_factory=dict)
    volume_claims: dict[Key, PersistentVolumeClaim] = field(default_factory=dict)
    _names: dict[str, set[str]] = field(default_factory=dict)
    _owned: dict[tuple[str, str], str] = field(init=False)

    def __post_init__(self) -> None:
        # Claims that were made for pods whose status does not name them yet.
        self._owned = {
            (owner.uid, claim.metadata.annotations[POD_CLAIM]): claim.name
            for claim in self.state.resource_claims.values()
            if POD_CLAIM in claim.metadata.annotations and (owner := claim.metadata.controller)
        }

    def with_claims(self) -> ClusterState:
        """Return the state with the claims that were made."""
        state = self.state
        if self.resource_claims:
            claims = {**state.resource_claims, **self.resource_claims}
            state = replace(state, resource_claims=claims)
        if self.volume_claims:
            volume_claims = {**state.persistent_volume_claims, **self.volume_claims}
            state = replace(state, persistent_volume_claims=volume_claims)
        return state

    def owner(self, pod: Pod) -> Pod:
        """Make the claims that the pod lacks. Return it with the status that names them."""
        # 1. A ResourceClaim for each reference to a template, if the status names none that exists.
        names = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
        count = len(self.resource_claims) + len(self.volume_claims)
        for reference in pod.spec.resource_claims:
            named = names.get(reference.name)
            claim = self.state.resource_claims.get((pod.namespace, named or ""))
            maker = None if claim is None else claim.metadata.controller
            is_own = maker is not None and maker.uid == pod.uid
            is_unneeded = reference.name in names and named is None
            if reference.resource_claim_template_name and not (is_own or is_unneeded):
                name = self._resource_claim(pod, reference)
                names |= {reference.name: name} if name else {}
        # 2. A PersistentVolumeClaim for each ephemeral volume.
        for volume in pod.spec.volumes:
            key = pod.namespace, f"{pod.name}-{volume.name}"
            template = volume.ephemeral and volume.ephemeral.volume_claim_template
            if not template or key in self.state.persistent_volume_claims:
                continue
            spec = template.spec
            if spec.storage_class_name is None:
                spec = structs.replace(spec, storage_class_name=default_class(self.state))
            metadata = ObjectMeta(
                name=key[1],
                namespace=key[0],
                labels=template.metadata.labels,
                annotations=template.metadata.annotations,
                owner_references=(_owner(pod),),
            )
            self.volume_claims[key] = PersistentVolumeClaim(metadata=metadata, spec=spec)
        # 3. The status names the ResourceClaims.
        statuses = tuple(PodResourceClaimStatus(*named) for named in sorted(names.items()))
        if set(statuses) != set(pod.status.resource_claim_statuses):
            pod = with_claim_statuses(pod, statuses)
        if len(self.resource_claims) + len(self.volume_claims) > count:
            self.owners.append(pod)
        return pod

    def _resource_claim(self, pod: Pod, reference: PodResourceClaim) -> str:
        """Return the name of the claim that is made for the reference, or was; "" without a
        template."""
        existing = self._owned.get((pod.uid, reference.name))
        template_name = reference.resource_claim_template_name or ""
        own = self.state.resource_claim_templates.get((pod.namespace, template_name))
        template = own.spec if own is not None else None
        # Without a template, claims are like those of the pod that this one is like.
        for each in self.like.status.resource_claim_statuses if self.like is not None else ():
            name = each.resource_claim_name or ""
            claim = self.state.resource_claims.get((pod.namespace, name))
            if template is None and each.name == reference.name and claim is not None:
                template = ResourceClaimTemplateSpec(spec=claim.spec)
        if existing or template is None:
            return existing or ""
        namespace, parts = pod.namespace, (pod.name, reference.name)
        base = "-".join((*parts, ""))
        if len(base) > _MAX_BASE:
            base = "-".join(part[: len(part) * _MAX_BASE // len(base)] for part in parts)
        if namespace not in self._names:
            keys = self.state.resource_claims
            self._names[namespace] = {name for own, name in keys if own == namespace}
        name = next(generated_names(base, self._names[namespace]))
        metadata = ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{pod.uid}/{name}",
            labels=template.metadata.labels,
            annotations={**template.metadata.annotations, POD_CLAIM: reference.name},
            owner_references=(_owner(pod),),
        )
        self.resource_claims[namespace, name] = ResourceClaim(metadata=metadata, spec=template.spec)
        return name


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference("v1", "Pod", pod.name, pod.uid, controller=True)


def default_class(state: ClusterState) -> str | None:
    """Return the storage class of claims that name none; None if there is none. Upstream:
    pkg/volume/util (GetDefaultClass): the newest one, then the first by name."""
    defaults = [
        each
        for each in state.storage_classes.values()
        if each.metadata.annotations.get(IS_DEFAULT) == "true"
    ]
    defaults.sort(key=lambda each: each.name)
    newest = max(defaults, key=lambda each: each.metadata.creation_timestamp, default=None)
    return None if newest is None else newest.name

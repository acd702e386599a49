"""Rejects nodes that a bound volume cannot be used from, and nodes for which no volume can be found
or provisioned for an unbound claim; reserves the volumes.

Upstream: plugins/volumebinding/volume_binding.go, with StorageCapacityScoring off: PreScore skips
Score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import (
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    Proposes,
    ReservePlugin,
    Scope,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Ids, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.plugins.helper.hints import refers_to
from ksched_cli.plugins.helper.signatures import Fragments, sign_volumes
from ksched_cli.plugins.volume_binding.args import VolumeBindingArgs
from ksched_cli.plugins.volume_binding.assumed_volumes import VolumeMemory
from ksched_cli.plugins.volume_binding.binder import (
    NODE_CONFLICT,
    REASON_BITS,
    VOLUME_MISSING,
    PodClaims,
    PodVolumes,
    VolumeBinder,
)
from ksched_cli.plugins.volume_binding.explain import BindingExplanation
from ksched_cli.plugins.volume_binding.proposals import other_classes, proposals
from ksched_cli.plugins.volume_binding.storage_capacity import volume_limit
from ksched_cli.plugins.volumes.csi_migration import MIGRATED_PLUGINS
from ksched_cli.plugins.volumes.pod_claims import (
    CLAIM,
    claim_class,
    claim_uses,
    not_found_message,
    ownership_error,
)

STATE_KEY = "VolumeBinding"
UNBOUND_IMMEDIATE = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")


class BindingState(Struct):
    """The claims of one attempt's pod. Upstream: stateData.

    volumes: for the claims on every node, set by Filter, where not every node passes; verdicts: the
    resulting ones; explanation: set by explain. Clones of the cycle state share them.
    """

    claims: PodClaims
    volumes: PodVolumes | None = None
    verdicts: tuple[Ids, Sequence[Status]] | None = None
    explanation: BindingExplanation | None = None


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    ReservePlugin,
    PreScorePlugin,
    ScorePlugin,
    PreBindPlugin,
    SignPlugin,
    Explains,
    Proposes,
):
    name = "VolumeBinding"
    idle_after_skip = True
    assumed_type = VolumeMemory

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self.binder = VolumeBinder(handle)
        self._cluster = handle.cluster

    def carry_over(self, previous: VolumeBinding) -> None:
        """See CarriesOver."""
        before, after = previous.binder.assumed, self.binder.assumed
        after.carry_over(before, previous._cluster, self._cluster)

    def assumed(self) -> VolumeMemory:
        """See Checkpointed."""
        return self.binder.assumed.assumed()

    def assume(self, assumed: VolumeMemory) -> None:
        self.binder.assumed.assume(assumed, self._cluster)

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if any(claim_uses(pod.pod)) else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def events_to_register(self) -> Iterable[Registration]:
        return REGISTRATIONS

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        if not any(claim_uses(pod.pod)):
            state.write(STATE_KEY, BindingState(PodClaims()))
            return None, SKIP
        problem = self._claim_problem(pod)
        if problem:
            return None, Status.unresolvable(problem)
        claims = self.binder.claims(pod.pod)
        if claims.unbound_immediate:
            return None, UNBOUND_IMMEDIATE
        state.write(STATE_KEY, BindingState(claims))
        return None, SUCCESS

    def _claim_problem(self, pod: PodInfo) -> str:
        """Return why one of the pod's claims cannot be used, or "". Upstream: podHasPVCs."""
        for use in claim_uses(pod.pod):
            claim = self._cluster.persistent_volume_claims.get((pod.namespace, use.claim))
            name = quote(use.claim)
            if claim is None and use.ephemeral:
                return (
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                    f"{name}"
                )
            if claim is None:
                return not_found_message(CLAIM, use.claim)
            if claim.status.phase == "Lost":
                volume = quote(claim.spec.volume_name)
                return f"{CLAIM} {name} bound to non-existent persistentvolume {volume}"
            if claim.metadata.deletion_timestamp:
                return f"{CLAIM} {name} is being deleted"
            if use.ephemeral:
                problem = ownership_error(pod.pod, claim)
                if problem:
                    return problem
        return ""

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        binding_state = read_state(state)
        if binding_state.verdicts is None:
            if self.binder.reach_every_node(binding_state.claims):
                return Verdicts.passing(len(nodes))
            # Volumes do not change during an attempt: computed once, for every node.
            binding_state.volumes = self.binder.find(binding_state.claims)
            binding_state.verdicts = binding_state.volumes.verdicts()
        ids, statuses = binding_state.verdicts
        return Verdicts(np.array(nodes.gather(ids)), list(statuses))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        return SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        volumes = read_state(state).volumes
        if volumes is not None:
            self.binder.assume(volumes, node.row)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        binding_state: BindingState | None = state.data.get(STATE_KEY)
        if binding_state is not None and binding_state.volumes is not None:
            self.binder.revert(binding_state.volumes, node.row)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Upstream waits for the volume controller here; a simulation has none."""
        return SUCCESS

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        binding_state: BindingState | None = state.data.get(STATE_KEY)
        if binding_state is None or binding_state.volumes is None:
            return []
        if binding_state.explanation is None:
            binding_state.explanation = BindingExplanation(
                self.binder, self._cluster, binding_state.claims, binding_state.volumes
            )
        return binding_state.explanation.rejection(node)

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        volumes = read_state(state).volumes
        if volumes is None:
            return
        lost = REASON_BITS[NODE_CONFLICT] | REASON_BITS[VOLUME_MISSING]
        claims = volumes.dynamic_provisions_at(node.row)
        # The data of a bound volume is where the volume is; a node that was selected stays so.
        if volumes.reason_bits[node.row] & lost or any(
            self.binder.assumed.selected_node(claim) for claim in claims
        ):
            return
        yield from other_classes(
            [claim for claim in claims if not self._makes_volume(claim, claim_class(claim), node)],
            self._cluster,
            lambda claim, name: self._makes_volume(claim, name, node),
        )

    def _makes_volume(self, claim: PersistentVolumeClaim, class_name: str, node: NodeInfo) -> bool:
        """Whether the class makes a volume for the claim that the node can use."""
        storage_class = self._cluster.storage_classes[class_name]
        where = self.binder.provisioning_nodes(storage_class)
        return bool(
            where[node.row] and self.binder.has_enough_capacity(claim, storage_class)[node.row]
        )

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        return proposals(pod, self._cluster)


def read_state(state: CycleState) -> BindingState:
    """Raises PluginError where PreFilter did not run, with the text of upstream's CycleState."""
    binding_state: BindingState | None = state.data.get(STATE_KEY)
    if binding_state is None:
        raise PluginError("not found")
    return binding_state


def after_class_change(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_claim_change(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> bool:
    return refers_to(pod, new, ephemeral=True)


def after_csi_node_change(pod: PodInfo, old: CSINode | None, new: CSINode) -> bool:
    """Other in-tree plugins have been migrated on the node."""
    return old is None or _migrated(old) != _migrated(new)


def _migrated(node: CSINode) -> str:
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def after_capacity_change(
    pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> bool:
    """There is room for a greater volume."""
    if old is None:
        return True
    limit, before = volume_limit(new), volume_limit(old)
    return limit is not None and (before is None or limit > before)


_COMES_OR_CHANGES = Action.ADD | Action.UPDATE
# Changes of CSIDrivers matter upstream to pods with CSI volumes of their own,
# which are not read here.
REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(STORAGE_CLASS, _COMES_OR_CHANGES), after_class_change),
    (ClusterEvent(PERSISTENT_VOLUME_CLAIM, _COMES_OR_CHANGES), after_claim_change),
    (ClusterEvent(PERSISTENT_VOLUME, _COMES_OR_CHANGES), None),
    (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
    (ClusterEvent(CSI_NODE, _COMES_OR_CHANGES), after_csi_node_change),
    (ClusterEvent(CSI_STORAGE_CAPACITY, _COMES_OR_CHANGES), after_capacity_change),
)

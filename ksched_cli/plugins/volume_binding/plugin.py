"""Rejects nodes that the pod's volumes cannot be used from, nor found or made for; reserves them.

Upstream: plugins/volumebinding/volume_binding.go, with StorageCapacityScoring off, as it is by
default: Score has nothing to say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.types import VolumeBindingArgs
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Ids, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.plugins.volume_binding.binder import PodClaims, PodVolumes, VolumeBinder
from ksched_cli.plugins.volumes.explain import VolumeWords
from ksched_cli.plugins.volumes.pod_claims import CLAIM, claim_uses, not_found, ownership_fault

STATE_KEY = "VolumeBinding"
UNBOUND_IMMEDIATE = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")


@dataclass(frozen=True, slots=True)
class Found:
    """What the pod's claims get on every node, and the verdicts that follow."""

    volumes: PodVolumes
    ids: Ids
    statuses: list[Status]


@dataclass(slots=True)
class Attempt:
    """found: once Filter has asked; words: once Explains has. Copies of the state share them."""

    claims: PodClaims
    found: Found | None = None
    words: VolumeWords | None = None


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    ReservePlugin,
    PreScorePlugin,
    ScorePlugin,
    PreBindPlugin,
    Explains,
):
    name = "VolumeBinding"

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self.binder = VolumeBinder(handle)
        self._cluster = handle.cluster

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if any(claim_uses(pod.pod)) else Scope.NODE

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        if not any(claim_uses(pod.pod)):
            state.write(STATE_KEY, Attempt(PodClaims()))
            return None, SKIP
        fault = self._claim_fault(pod)
        if fault:
            return None, Status.unresolvable(fault)
        claims = self.binder.claims(pod.pod)
        if claims.immediate:
            return None, UNBOUND_IMMEDIATE
        state.write(STATE_KEY, Attempt(claims))
        return None, SUCCESS

    def _claim_fault(self, pod: PodInfo) -> str:
        """The first thing that keeps a claim from being used, or "". Upstream: podHasPVCs."""
        for use in claim_uses(pod.pod):
            claim = self._cluster.persistent_volume_claims.get((pod.namespace, use.claim))
            name = quote(use.claim)
            if claim is None and use.ephemeral:
                waiting = "waiting for ephemeral volume controller to create"
                return f"{waiting} the persistentvolumeclaim {name}"
            if claim is None:
                return not_found(CLAIM, use.claim)
            if claim.status.phase == "Lost":
                volume = quote(claim.spec.volume_name)
                return f"{CLAIM} {name} bound to non-existent persistentvolume {volume}"
            if claim.metadata.deletion_timestamp:
                return f"{CLAIM} {name} is being deleted"
            if use.ephemeral:
                fault = ownership_fault(pod.pod, claim)
                if fault:
                    return fault
        return ""

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        attempt = _attempt(state)
        if attempt.found is None:
            # Nothing about volumes changes during an attempt: one look answers for every node.
            volumes = self.binder.find(attempt.claims)
            attempt.found = Found(volumes, *volumes.verdicts())
        found = attempt.found
        return Verdicts(np.array(nodes.gather(found.ids)), list(found.statuses))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        return SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        attempt = _attempt(state)
        if attempt.found is not None:
            self.binder.assume(attempt.found.volumes, node.row)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        attempt: Attempt | None = state.data.get(STATE_KEY)
        if attempt is not None and attempt.found is not None:
            self.binder.revert(attempt.found.volumes, node.row)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Binding would wait for a volume controller, which a simulation has not."""
        return SUCCESS

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        attempt: Attempt | None = state.data.get(STATE_KEY)
        if attempt is None or attempt.found is None:
            return []
        if attempt.words is None:
            found = attempt.found.volumes
            attempt.words = VolumeWords(self.binder, self._cluster, attempt.claims, found)
        return attempt.words.rejection(node)


def _attempt(state: CycleState) -> Attempt:
    """Where PreFilter is switched off, upstream hands on the bare error of reading."""
    attempt: Attempt | None = state.data.get(STATE_KEY)
    if attempt is None:
        raise PluginError("not found")
    return attempt

"""Rejects nodes that do not declare the features that the pod needs of their kubelets.

Upstream: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go and component-helpers
nodedeclaredfeatures (features/registry.go, featureset.go).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.objects.volumes import ProjectedVolume
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cluster_events import NODE, POD, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Status
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.helper import FilteringPlugin, Fragments, PreFiltered

EMPTY = ProjectedVolume()
REASON = Status.unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
MOUNT_OPTIONS = "VolumeBindMountOptions"
MLDSA = "PodCertificateMLDSA"
MLDSA_KEYS = frozenset({"MLDSA44", "MLDSA65", "MLDSA87"})
OCI_PROFILE = "SecurityProfileOCI"
# Every feature that a node may declare, sorted; not all of them are asked for when pods come.
REGISTERED = (
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    MLDSA,
    RESTART_ALL,
    OCI_PROFILE,
    USER_NAMESPACES,
    MOUNT_OPTIONS,
)


class NodeDeclaredFeatures(FilteringPlugin):
    name = "NodeDeclaredFeatures"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._enabled = handle.release.enabled(self.name)
        self._required = partial(required_features, rules=handle.release.rules)
        self._lacking: dict[frozenset[str], NDArray[np.bool_]] = {}

    def cache_key(self, pod: PodInfo) -> Hashable:
        return self._required(pod)

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        """Sign the required features. Upstream's plugin fails to sign while its gate is off."""
        return {"features": self._required(pod)} if self._enabled else None

    def events_to_register(self) -> Iterable[Registration]:
        node_event = ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE)
        yield node_event, None  # which such a change always moves
        yield ClusterEvent(POD, Action.UPDATE), self._after_pod_change

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        return None, SUCCESS if self._enabled and self._required(pod) else SKIP

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        required = self._required(pod)
        if not self._enabled or not required:
            return Verdicts.passing(len(nodes))
        lacking = self._lacking.get(required)
        if lacking is None:
            lacking = self._lacking[required] = _lacking(nodes.snapshot, required)
        return Verdicts.rejecting(nodes.gather(lacking), REASON)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        missing = self._required(pod) - declared_features(node.object.status.declared_features)
        return [f"not declared: {', '.join(sorted(missing))}"]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return new.key == pod.key and self._required(old) != self._required(new)


def _lacking(snapshot: Snapshot, required: frozenset[str]) -> NDArray[np.bool_]:
    """Return per node, whether a required feature is missing."""
    declared = (declared_features(node.status.declared_features) for node in snapshot.nodes)
    return np.array([not required <= features for features in declared], dtype=np.bool_)


def required_features(pod: PodInfo, rules: Rules) -> frozenset[str]:
    """Return the features that a node must declare for the pod. Upstream: InferForPodScheduling."""
    spec = pod.spec
    required = set()
    containers = (*spec.containers, *spec.init_containers)
    restarts = (rule for container in containers for rule in container.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in restarts):
        required.add(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        required.add(USER_NAMESPACES)
    if rules.needs_mount_options and any(
        mount.bind_mount_options for c in containers for mount in c.volume_mounts
    ):
        required.add(MOUNT_OPTIONS)
    if rules.asks_for_security_profiles:
        sources = (each for volume in spec.volumes for each in (volume.projected or EMPTY).sources)
        certificates = (source.pod_certificate for source in sources)
        if any(each is not None and each.key_type in MLDSA_KEYS for each in certificates):
            required.add(MLDSA)
        contexts = (each.security_context for each in (*containers, *spec.ephemeral_containers))
        all_contexts = (spec.security_context, *contexts)
        profiles = (each.seccomp_profile for each in all_contexts if each is not None)
        if any(each is not None and each.type == "OCI" for each in profiles):
            required.add(OCI_PROFILE)
    return frozenset(required)


def declared_features(declared: tuple[str, ...]) -> frozenset[str]:
    """Return the registered ones of a node's features. Upstream walks both lists side by side, so
    that a feature out of order hides others."""
    features = set()
    registered = iter(REGISTERED)
    candidate = next(registered, None)
    for feature in declared:
        while candidate is not None and candidate < feature:
            candidate = next(registered, None)
        if candidate == feature:
            features.add(feature)
            candidate = next(registered, None)
    return frozenset(features)
